"""What a client publishes, and what else is used of it. In: the environment. Out: a line in the log per lack.

Much of what makes the clients fast is not published by them, and a release may change it. What serves speed
alone is then done in the published way, which takes longer.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Final

PUBLISHED_ONLY: Final = "PERCEPTRON_PUBLISHED_ONLY"
"""The environment variable that forbids whatever a client does not publish and that serves speed alone."""

_log = logging.getLogger(__name__)


def published_only() -> bool:
    """Return whether the published way is to be taken everywhere."""
    return os.environ.get(PUBLISHED_ONLY, "") not in {"", "0"}


@cache
def report_published_way(client: str, what: str, reason: str) -> None:
    """Log, once in a process, that something is done in the published way.

    Parameters
    ----------
    client
        The package and its release.
    what
        What is done so: "reading records".
    reason
        Why it is.

    """
    _log.warning("%s: %s in the published way, which is slower: %s", client, what, reason)
