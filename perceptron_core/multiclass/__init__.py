"""Learners of several classes. Compiled."""
