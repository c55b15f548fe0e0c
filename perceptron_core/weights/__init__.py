"""Examples by index, and tables of weights. Compiled."""
