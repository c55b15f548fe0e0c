"""Events, matched with their predictions and outcomes."""
