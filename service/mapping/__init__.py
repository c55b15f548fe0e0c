"""Records of any shape as events and labels: what the settings `events` and `labels` say."""
