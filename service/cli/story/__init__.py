"""What `perceptron demo` shows: its data, the service that it kills, and the models beside it."""
