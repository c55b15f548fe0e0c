"""Lets ``python -m service`` be the `perceptron` command."""

from __future__ import annotations

from service.cli import main

main()
