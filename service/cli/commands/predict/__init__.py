"""`perceptron predict`: what a trained model says of events without labels."""

from service.cli.commands.predict.predict import command

__all__ = ["command"]
