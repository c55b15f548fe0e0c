"""The installed release of a client, and whether more of it is used than it publishes.

What a client does not publish, any release may change. Where that serves speed alone, it is used in the
folder `accelerated` of the client's adapter and nowhere else. If that folder is missing or not compiled, the
installed release does not fit it, or PERCEPTRON_PUBLISHED_ONLY is set, the published way is taken, which is
slower.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from service.errors import ConfigurationError

PUBLISHED_ONLY: Final = "PERCEPTRON_PUBLISHED_ONLY"
"""The environment variable that forbids unpublished names which only make a client faster."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Release:
    """The installed release of a client.

    Parameters
    ----------
    name, package
        The client's name, and its package, which has the number of the release.
    adapter
        The package in which the service uses it.
    oldest, tested
        The lowest release that can be used, and the highest one that was tested.
    other
        What `--kafka-client` calls the other client.
    extra
        What of the client is to be installed, in brackets.

    """

    name: str
    package: ModuleType
    adapter: str
    oldest: str
    tested: str
    other: str
    extra: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.package.__version__}"

    def check(self) -> None:
        """Raise `ConfigurationError` for a release that is too old."""
        if numbers(self.package.__version__) < numbers(self.oldest):
            raise self.unsupported(f"it is older than {self.oldest}")

    def unsupported(self, reason: str) -> ConfigurationError:
        """Make the error for a release that cannot be used."""
        return ConfigurationError(
            f"{self} cannot be used: {reason}",
            hint=f"install a release that was tested ({self.oldest} to {self.tested}): "
            f"pip install '{self.name}{self.extra}=={self.tested}'; or use --kafka-client {self.other}",
        )

    def accelerated(self) -> Any | None:  # noqa: ANN401 - a module, which may be missing
        """Return the folder `accelerated` of the adapter; None if the published way is to be taken."""
        if os.environ.get(PUBLISHED_ONLY, "") not in {"", "0"}:
            report_published_way(str(self), f"{PUBLISHED_ONLY} is set")
            return None
        return _accelerated(self)


@cache
def _accelerated(release: Release) -> ModuleType | None:
    folder = f"{release.adapter}.accelerated"
    try:
        found = import_module(folder)
        reason = found.reason_against()
    except ImportError as error:
        if (error.name or "").startswith(folder):
            _log.info("%s: %s is not compiled or not installed", release, folder)
            return None
        reason = str(error)
    if reason is None:
        return found
    report_published_way(str(release), reason)
    return None


@cache
def report_published_way(release: str, reason: str) -> None:
    """Log, once in a process, that the published way is taken, and why."""
    _log.warning("%s is used as it is published, which is slower: %s", release, reason)


def numbers(release: str) -> list[int]:
    """Return the numbers of a release, for comparison."""
    return [int(number) for number in re.findall(r"\d+", release)]
