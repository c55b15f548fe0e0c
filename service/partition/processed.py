"""What a processor makes of a batch: the outputs, and which of them are dead letters."""

from __future__ import annotations

from typing import NamedTuple

from service.stream import Output


class Processed(NamedTuple):
    """What is to be written for a batch."""

    outputs: list[Output]
    """All of it, in the order of the records."""
    dead_letters: list[tuple[int, Output]]
    """The dead letters among it, each with the position of its record in the batch."""
