"""Read records of any shape as events and labels, according to the settings `events` and `labels`."""
