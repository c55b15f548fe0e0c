"""A decoder and an extractor that several processors share, so that each message is read once."""

from __future__ import annotations

from collections.abc import Collection

from service.messages.decoder import Decoder, Incoming
from service.messages.features import FeatureExtractor, RawFeatures, X
from service.messages.schema import Features
from service.stream import Record


class OnceDecoder(Decoder):
    """Decodes each message once, until it is told to forget them; a message that is refused, each time."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._known: dict[tuple[bytes | None, Record | None], Incoming] = {}
        self.maps_time = decoder.maps_time

    def decode(self, value: bytes | None, record: Record | None = None) -> Incoming:
        """Return the message, the same one each time. Raises `Rejection`."""
        key = value, record
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._decoder.decode(value, record)
        return found

    def place_of_time(self, record: Record) -> str:
        """Say where a record's event time is found, for messages."""
        return self._decoder.place_of_time(record)

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        return self._decoder.unfound()

    def forget(self) -> None:
        """Forget what was decoded."""
        self._known.clear()


class OnceExtractor(FeatureExtractor):
    """Makes the features of each message once, until it is told to forget them."""

    def __init__(self, extractor: FeatureExtractor | RawFeatures) -> None:
        self._extractor = extractor
        self._known: dict[tuple[int, str | None, str | None], tuple[object, X]] = {}
        """By the identity of the message's features, which are kept here so that no others get it."""

    def extract(self, features: Features | None, text: str | None, tenant: str | None = None) -> X:
        """Return x of a message that a `OnceDecoder` decoded, the same each time."""
        key = id(features), text, tenant
        if key not in self._known:
            self._known[key] = features, self._extractor.extract(features, text, tenant)
        return self._known[key][1]

    def forget(self) -> None:
        """Forget what was made."""
        self._known.clear()
