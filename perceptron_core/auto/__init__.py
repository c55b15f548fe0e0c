"""The classifier without choices to make: features of any event, many learners, a mixture of them."""
