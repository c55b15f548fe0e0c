"""`perceptron checkpoint`: list the committed state of models, export one, import one, reset."""

from service.cli.commands.checkpoint.checkpoint import command

__all__ = ["command"]
