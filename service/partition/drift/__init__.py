"""Drift: a partition whose share of wrong predictions has risen."""
