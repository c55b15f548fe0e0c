"""Trees that grow online by Hoeffding's bound, and the nearest of the last events."""
