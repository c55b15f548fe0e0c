"""A part of a partition as a contributor would add it: a counter, of events whose text is empty."""

from typing import ClassVar

from service.partition import parts
from service.partition.part import Part


class BlankTexts(Part):
    """Counts the events whose text is empty."""

    name = "blanks"
    counted: ClassVar = {"blank_texts": "Events whose text is empty."}

    def take(self, event, timestamp_ms):
        self.count["blank_texts"] += event.text == ""


def add_part(monkeypatch, kind=BlankTexts):
    """Let partitions that are made from now on have a part of this kind."""
    monkeypatch.setattr(parts, "FURTHER", (*parts.FURTHER, kind))
