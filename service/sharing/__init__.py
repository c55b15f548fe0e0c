"""One model over all partitions: rounds in which the partitions mix what they have learned."""
