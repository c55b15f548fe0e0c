"""The classifier that needs no choosing: features of any event, many learners, a mixture of them."""
