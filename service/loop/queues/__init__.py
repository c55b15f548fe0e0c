"""The records that wait: in step, in turn, and how many of them are a batch."""
