"""Linear learners, one file each, and their common parts: River's interface, rules, batches."""
