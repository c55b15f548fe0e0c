"""Decode records of the input topics outside the loop, with their schemas."""

from __future__ import annotations

from collections.abc import Sequence

from service.formats.sources import Sources
from service.formats.topics import make_schemas
from service.partition.factory import make_decoder
from service.settings.load import Settings
from service.stream import Record


class InputReader:
    """Has a decoder, and finds the schemas that it needs.

    Parameters
    ----------
    settings
        How records are written.

    Raises
    ------
    ConfigurationError
        A schema file cannot be used, or a package is missing.

    """

    def __init__(self, settings: Settings) -> None:
        self._schemas = make_schemas(settings)
        self._sources = Sources(settings) if self._schemas is not None else None
        self.decoder = make_decoder(settings, self._schemas)

    def prepare(self, records: Sequence[Record]) -> None:
        """Find the schemas of records that are to be decoded.

        Raises
        ------
        RegistryUnavailable
            The registry does not answer.

        """
        if self._sources is not None and self._schemas is not None:
            self._schemas.add(self._sources.find(self._schemas, records))
