"""Examples by event id, oldest first, and how snapshots have them.

Where there is a compiler, `kept_examples.pyx` stands in for this module.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from copy import copy
from itertools import islice

from perceptron_core.formats.packed import pack
from service.partition.examples import Example, fields_of


class KeptExamples(OrderedDict[str, Example]):
    """A mapping that examples leave in the order in which they came."""

    def add(self, event_id: str, example: Example) -> None:
        """Add the example of an event that has none here, as the newest one."""
        self[event_id] = example

    def __setitem__(self, event_id: str, example: Example) -> None:
        example.event_id = event_id
        super().__setitem__(event_id, example)

    def oldest_id(self) -> str:
        """Return the event id of the oldest example; there must be one."""
        return next(iter(self))

    def oldest(self) -> Example:
        """Return the oldest example; there must be one."""
        return next(iter(self.values()))

    def oldest_ms(self) -> int:
        """Return the event time of the oldest example; there must be one."""
        return self.oldest().timestamp_ms

    def drop_oldest(self) -> None:
        """Drop the oldest example; there must be one."""
        self.popitem(last=False)


def freeze_examples(kept: KeptExamples, start: int = 0) -> list[Example]:
    """Copy the examples from a place on, oldest first; what they refer to does not change."""
    return [copy(example) for example in islice(kept.values(), start, None)]


def pack_examples(examples: list[Example]) -> Iterator[bytes]:
    """Write [id, *fields] of each example, in order, as one MessagePack array; yield its pieces."""
    yield pack([(example.event_id, *fields_of(example)) for example in examples])
