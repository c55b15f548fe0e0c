"""Runs the `perceptron` command as ``python -m service``."""

from __future__ import annotations

from service.cli import main

main()
