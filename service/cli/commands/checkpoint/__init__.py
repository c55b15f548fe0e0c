"""`perceptron checkpoint`: what is committed of the models; take one out, put one in, begin again."""

from service.cli.commands.checkpoint.checkpoint import command

__all__ = ["command"]
