"""Files of examples: open them, read them row by row, replay them as a stream."""
