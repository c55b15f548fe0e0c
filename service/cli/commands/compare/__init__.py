"""`perceptron compare`: several models over one file, side by side."""

from service.cli.commands.compare.compare import command

__all__ = ["command"]
