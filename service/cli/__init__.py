"""The `perceptron` command."""

from __future__ import annotations

try:
    from service.cli.app import main
except KeyboardInterrupt:  # the imports take a tenth of a second, before `main` catches it
    raise SystemExit(130) from None

__all__ = ["main"]
