"""Read what a group has committed from its checkpoint logs: batches, settings, positions, findings."""
