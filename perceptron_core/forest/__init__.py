"""Trees that grow online: leaves that count, splits that Hoeffding's bound accepts."""
