"""Read records of any shape as events and labels, as the settings `events` and `labels` say."""
