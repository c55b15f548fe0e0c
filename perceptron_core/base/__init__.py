"""What learners of one kind have in common: River's interface, the fast half of a rule, batches."""
