"""Messages: read events and labels from bytes, write predictions and dead letters as bytes."""
