"""The state machine of a partition, without I/O and clock."""
