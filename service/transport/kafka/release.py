"""The installed release of a client."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType

from service.errors import ConfigurationError


@dataclass(frozen=True)
class Release:
    """The installed release of a client.

    Parameters
    ----------
    name, package
        The client's name, and its package, which has the number of the release.
    oldest, tested
        The lowest release that can be used, and the highest one that was tested.
    other
        What `--kafka-client` calls the other client.
    extra
        What of the client is to be installed, in brackets.

    """

    name: str
    package: ModuleType
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


def numbers(release: str) -> list[int]:
    """Return the numbers of a release, for comparison."""
    return [int(number) for number in re.findall(r"\d+", release)]
