"""Records in bulk. In: what clients fetch and the service answers. Out: sequences, not an object for each."""
