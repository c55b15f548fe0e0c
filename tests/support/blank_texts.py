"""A part of a partition as a contributor would add it: a counter, of events whose text is empty."""

from typing import ClassVar

from service.partition.parts import kinds
from service.partition.parts.part import Part


class BlankTexts(Part):
    """Counts the events whose text is empty."""

    name = "blanks"
    counted: ClassVar = {"blank_texts": "Events whose text is empty."}

    def on_event(self, example, event, timestamp_ms, is_new):
        self.count["blank_texts"] += event.text == ""
        return b""


def add_part(monkeypatch, kind=BlankTexts):
    """Let partitions that are made from now on have a part of this kind."""
    monkeypatch.setattr(kinds, "OPTIONAL_PARTS", (*kinds.OPTIONAL_PARTS, kind))
