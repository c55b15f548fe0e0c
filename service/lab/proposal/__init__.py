"""Settings for records that nobody has described: which field is what, and why."""
