"""Open the tasks of assigned partitions, beside those that run."""
