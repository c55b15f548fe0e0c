"""The `perceptron` command."""

from __future__ import annotations

from service.cli.app import main

__all__ = ["main"]
