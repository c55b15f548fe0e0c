"""The `perceptron` command."""
