"""One partition's state machine: no I/O, no clock."""
