"""Metrics, health, the models of the open partitions, learning curves."""
