"""Margin, separability and mistake bound of a set of examples."""
