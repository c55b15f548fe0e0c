"""Trees that grow online by Hoeffding's bound, and the categories that they test."""
