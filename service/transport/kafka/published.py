"""Whether only the published interface of the clients is used (`PERCEPTRON_PUBLISHED_ONLY`).

The clients are fast through names that they do not publish and that a release may change. Where such a name
is missing, or this variable is set, the published interface is used, which is slower, and the log says so.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Final

PUBLISHED_ONLY: Final = "PERCEPTRON_PUBLISHED_ONLY"
"""The environment variable that forbids unpublished names which only make a client faster."""

_log = logging.getLogger(__name__)


def published_only() -> bool:
    """Return whether the variable forbids unpublished names."""
    return os.environ.get(PUBLISHED_ONLY, "") not in {"", "0"}


@cache
def report_published_way(client: str, what: str, reason: str) -> None:
    """Log, once in a process, that the published interface is used, and why.

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
