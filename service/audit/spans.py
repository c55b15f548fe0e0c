"""Check that the outputs of each batch lie together in a partition of the predictions.

Transactions of a partition follow each other, so in a partition of the predictions topic all outputs of a
batch lie before those of the next one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from service.audit.findings import Fault, Finding
from service.audit.matching.outputs import Found


class BatchSpans:
    """The first and the last answer of each batch of a partition."""

    def __init__(self) -> None:
        self._spans: defaultdict[int, dict[int, tuple[Found, Found]]] = defaultdict(dict)
        """By partition of the predictions topic, then by number of the batch."""

    def note(self, number: int, found: Found) -> None:
        """Take an answer of the batch with a number, counted as `BatchCounts` does."""
        spans = self._spans[found.place.partition]
        first, last = spans.get(number, (found, found))
        spans[number] = min(first, found, key=_offset), max(last, found, key=_offset)

    def contradictions(self) -> Iterator[Finding]:
        """Yield outcomes that lie behind an answer of a later batch, or before one of an earlier batch.

        The order of predictions is that of their events, which is checked elsewhere.
        """
        astray: dict[tuple[int, int], Found] = {}
        for partition, spans in self._spans.items():
            (_, furthest), *following = [span for _, span in sorted(spans.items())]
            for first, last in following:
                if _offset(furthest) > _offset(first):
                    astray |= {
                        (partition, _offset(each)): each for each in (first, furthest) if each.is_outcome
                    }
                furthest = max(furthest, last, key=_offset)
        for found in astray.values():
            message = "it is not among the answers of the batch that has processed its label"
            yield Finding(Fault.OUT_OF_ORDER, found.place, found.event_id, message)


def _offset(found: Found) -> int:
    return found.place.offset or 0
