"""Examples by index, and the tables of weights that belong to them. Compiled."""
