"""Ids that occur more than once in a file. In: messages. Out: how many events repeat an id, and which ids."""

from __future__ import annotations

from typing import Final

from service.messages.decoder import Decoder, Incoming
from service.stream import Record

_MOST_KNOWN: Final = 1 << 20
"""Ids that are remembered, the first ones: some 100 MB."""
_MOST_NAMED: Final = 3


class RepeatedIds(Decoder):
    """Decodes messages, and counts the events whose id an earlier event had.

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
        self._known: set[str] = set()
        self.maps_time = decoder.maps_time
        self.count = 0
        self.named: list[str] = []
        self.has_more = False

    def decode(self, value: bytes | None, record: Record | None = None) -> Incoming:
        """Return the message. Raises `Rejection`."""
        found = self._decoder.decode(value, record)
        if found.is_label:
            return found
        if found.id in self._known:
            self._note(found.id)
        elif len(self._known) < _MOST_KNOWN:
            self._known.add(found.id)
        return found

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
