"""Records and outputs in bulk. In: either. Out: sequences that make objects only when they are asked for."""
