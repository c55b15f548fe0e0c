"""Checkpoints: the committed state of a model and its position in the input."""
