"""`perceptron check-input`: show how the settings read records."""

from service.cli.commands.check_input.check_input import command

__all__ = ["command"]
