"""What was committed. In: the records of a checkpoint log. Out: batches, settings, positions, findings."""
