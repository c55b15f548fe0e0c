"""Checkpoints: what is committed of a model, and what it says of the input."""
