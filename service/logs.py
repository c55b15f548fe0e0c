"""Log lines. In: what the service and its libraries log. Out: stderr, at the level that was set."""

from __future__ import annotations

import logging
from typing import Final

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_stderr(level: str) -> None:
    """Log to stderr from `level` (debug, info, warning, error) on.

    Client libraries report every lost connection and every retry; the service says itself what comes of
    it, so they are heard from `error` on, unless everything is wanted.
    """
    logging.basicConfig(format=_FORMAT, level=level.upper(), force=True)
    logging.getLogger("kafka").setLevel(logging.DEBUG if level == "debug" else logging.CRITICAL)
