"""Files of examples: opened, read row by row, played as a stream."""
