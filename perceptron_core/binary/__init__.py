"""Learners of two classes; those with a `.pxd` beside them are compiled."""
