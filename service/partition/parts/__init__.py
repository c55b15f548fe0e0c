"""Parts of a partition: each has a state that is a function of the partition's records alone."""
