"""The loop: records in order, one transaction a batch, recovery."""
