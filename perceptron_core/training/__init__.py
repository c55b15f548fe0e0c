"""Training and testing over a finite set."""
