"""The structured perceptron for sequences of tags."""
