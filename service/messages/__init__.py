"""Messages: bytes to events and labels, predictions and dead letters to bytes."""
