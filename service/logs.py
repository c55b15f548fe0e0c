"""Log lines. In: what the service and its libraries log. Out: stderr, at the level that was set."""

from __future__ import annotations

import logging
from typing import Final

# librdkafka calls it critical when a newer owner takes a partition over.
_NEVER: Final = logging.CRITICAL + 1
_FORMAT: Final = "%(asctime)s %(levelname)s {}%(name)s: %(message)s"


def log_to_stderr(level: str, process: str = "") -> None:
    """Log to stderr from `level` (debug, info, warning, error) on, each line naming the `process`.

    Client libraries report every lost connection and every retry; the service says itself what comes of
    it, so they are heard only where everything is wanted.
    """
    form = _FORMAT.format(f"{process}: " if process else "")
    logging.basicConfig(format=form, level=level.upper(), force=True)
    for client in ("kafka", "confluent_kafka"):
        logging.getLogger(client).setLevel(logging.DEBUG if level == "debug" else _NEVER)
