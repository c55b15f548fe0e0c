"""`perceptron check-input`: what the settings make of records."""

from service.cli.commands.check_input.check_input import command

__all__ = ["command"]
