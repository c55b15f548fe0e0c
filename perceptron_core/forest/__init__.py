"""Trees that grow online by Hoeffding's bound, ferns, and the categories that both test."""
