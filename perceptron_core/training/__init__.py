"""Training over a finite set, and what it leaves behind."""
