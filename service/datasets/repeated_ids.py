"""Count the events of a file that repeat an id, and collect these ids."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from service.messages.decoder import Decoder, Incoming
from service.stream import Record

_MOST_KNOWN: Final = 1 << 20
"""Ids that are remembered, the first ones: some 100 MB."""
_MOST_NAMED: Final = 3


class RepeatedIds(Decoder):
    """Decodes messages, and counts the events whose id an earlier event had.

    One with the first label of that event is no repetition: it is its label.

    Attributes
    ----------
    count : int
        How many they are.
    named : list of str
        The first of their ids.
    has_more : bool
        Whether there are others.

    """

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._is_labelled: dict[str, bool] = {}
        """Each id that is known, and whether its label has come."""
        self.maps_time = decoder.maps_time
        self.count = 0
        self.named: list[str] = []
        self.has_more = False

    def decode(self, value: bytes | None, record: Record | None = None) -> Incoming:
        """Return the message. Raises `Rejection`."""
        found = self._decoder.decode(value, record)
        has_label, is_labelled = found.truth is not None, self._is_labelled.get(found.id)
        if is_labelled is not None and not found.is_label and (is_labelled or not has_label):
            self._note(found.id)
        elif is_labelled is not None:
            self._is_labelled[found.id] = True
        elif not found.is_label and len(self._is_labelled) < _MOST_KNOWN:
            self._is_labelled[found.id] = has_label
        return found

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        return self._decoder.unfound()

    def place_of_time(self, record: Record) -> str:
        """Say where a record's event time is found, for messages."""
        return self._decoder.place_of_time(record)

    def _note(self, event_id: str) -> None:
        self.count += 1
        if event_id in self.named:
            return
        if len(self.named) < _MOST_NAMED:
            self.named.append(event_id)
        else:
            self.has_more = True
