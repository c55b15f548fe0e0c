"""`perceptron predict`: predict the labels of events with a trained model."""

from service.cli.commands.predict.predict import command

__all__ = ["command"]
