"""Linear learners, one file each, and what they have in common: River's interface, rules, batches."""
