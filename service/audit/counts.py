"""Compare the counts in progress records, and where outputs lie, with what the records of a batch require."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from service.audit.committed.history import CommitHistory
from service.audit.committed.progress import Batch
from service.audit.findings import Fault, Finding, Findings, Place
from service.audit.matching.cases import Compared
from service.audit.matching.outputs import Found

PREDICTIONS: Final = "predictions"
REJECTED: Final = "rejected"
SKIPPED: Final = "skipped"
BECAME: Final = (PREDICTIONS, REJECTED, SKIPPED)
"""What input records become one by one, labels aside."""
DECIDED: Final = "decided"
DRIFTS: Final = "drifts"
LABELLED: Final = "labelled"
MISTAKES: Final = "mistakes"
_OF_PARTS: Final = (DECIDED, DRIFTS)
_READ: Final = "read "
"""With a topic's name: how many of its records are there."""


class BatchCounts:
    """Counts what each batch of a partition must have made.

    Parameters
    ----------
    history
        The partition's checkpoint log.
    first
        Where the input begins that is still there, by topic.
    offsets_are_dense
        Whether a record lies at each offset, so that none is missing in between.

    Attributes
    ----------
    gone
        How many records of each topic are missing in between; set by `find_gone`.
    are_signals_known
        Whether all drifts that were ever written are noted.

    """

    def __init__(self, history: CommitHistory, first: Mapping[str, int], *, offsets_are_dense: bool) -> None:
        begin = history.begin
        is_first = begin is not None and all(batch.sequence > begin.sequence for batch in history.batches[:1])
        known = [*([begin] if begin is not None and is_first else []), *history.batches]
        self._batches = [batch for batch in known if batch.sequence > history.begun_again_at]
        self._first, self._start = first, history.start
        self._is_dense = offsets_are_dense
        self._ends = {topic: [batch.offsets.get(topic, 0) for batch in self._batches] for topic in first}
        names = (*BECAME, DECIDED, DRIFTS, LABELLED, MISTAKES, *(_READ + topic for topic in first))
        self._made = {name: [0] * (len(self._batches) + 1) for name in names}
        self._are_labels_known = True
        self.gone: dict[str, int] = {}
        self.are_signals_known = False

    def note(self, name: str, place: Place) -> None:
        """Count what an input record made."""
        self._made[name][self.number(place)] += 1

    def note_read(self, place: Place) -> None:
        """Count an input record."""
        self.note(_READ + place.topic, place)

    def note_compared(self, compared: Compared) -> int | None:
        """Count a comparison of a prediction with a label; return the batch that made it, if it is known."""
        numbers = {self.number(place) for place in compared.places}
        if len(numbers) != 1:
            self._are_labels_known = False
            return None
        (number,) = numbers
        self._made[LABELLED][number] += 1
        self._made[MISTAKES][number] += compared.mistake
        return number

    def number(self, place: Place) -> int:
        """Return the number of the batch that has processed a record."""
        assert place.offset is not None
        return bisect_right(self._ends[place.topic], place.offset)

    def total(self, name: str) -> int:
        """Count what all records made."""
        return sum(self._made[name])

    def find_gone(self, findings: Findings) -> None:
        """Compare the numbers of records that batches have processed with those that are there.

        Kafka's offsets do not show it: transactions leave gaps as well.
        """
        for topic in self._first:
            self.gone[topic] = self._gone_before(topic)
        for n, (before, batch) in self._follow_ups():
            if before.consumed is None or batch.consumed is None:
                continue
            for topic in self._first:
                grown = _grown(before.consumed, batch.consumed, topic)
                made = self._made[_READ + topic][n]
                least, most = made, _grown(before.offsets, batch.offsets, topic)
                if self._is_dense:
                    least = most
                if not least <= grown <= most:
                    message = f"consumed grew by {grown} {topic} in batch {batch.sequence}, {made} are there"
                    findings.add(Fault.WRONG, batch.place, message)
                elif not self._is_dense:
                    self.gone[topic] += grown - made

    def _gone_before(self, topic: str) -> int:
        """Count the missing records before the first batch in the log, where that is known."""
        is_gone = any(first > self._start.get(topic, 0) for topic, first in self._first.items())
        if not self._batches or self._is_dense or is_gone:
            return 0
        begin = self._batches[0]
        consumed, end = (begin.consumed or {}).get(topic, 0), begin.offsets.get(topic, 0)
        made = self._made[_READ + topic][0]
        end -= self._start.get(topic, 0)
        return consumed - made if made <= consumed <= end else 0  # else a model or a topic was begun again

    def check(self, findings: Findings, *, checks_labels: bool) -> None:
        """Compare each batch with the growth of the counts in its progress record."""
        names = [*BECAME, *(() if findings else (DECIDED, *[DRIFTS] * self.are_signals_known))]
        if checks_labels and self._are_labels_known and not findings:
            names += [LABELLED, MISTAKES]
        for n, (before, batch) in self._follow_ups():
            if not self._is_whole(n, before, batch):
                continue
            for name in names:
                if name in _OF_PARTS and name in before.counts and name not in batch.counts:
                    continue  # its part was turned off
                grown, made = _grown(before.counts, batch.counts, name), self._made[name][n]
                if grown != made:
                    message = f"{name} grew by {grown} in batch {batch.sequence}, its input makes {made}"
                    findings.add(Fault.WRONG, batch.place, message)

    def _is_whole(self, n: int, before: Batch, batch: Batch) -> bool:
        """Return whether nothing that a batch has processed is gone, as far as is known."""
        return not any(
            gone
            and _grown(before.consumed or {}, batch.consumed or {}, topic) != self._made[_READ + topic][n]
            for topic, gone in self.gone.items()
        )

    def _follow_ups(self) -> Iterator[tuple[int, tuple[Batch, Batch]]]:
        """Yield each batch with the one before it, where all of its input may be there, and its number."""
        for n, (before, batch) in enumerate(pairwise(self._batches), start=1):
            # A gap is a finding of its own; or a model was put in between.
            if batch.sequence == before.sequence + 1 and self._has_input(before, batch):
                yield n, (before, batch)

    def _has_input(self, before: Batch, batch: Batch) -> bool:
        """Return whether a batch has processed nothing that is deleted, and nothing of another topic."""
        of_others = [
            _grown(before.offsets, batch.offsets, topic)
            for topic in batch.offsets.keys() - self._first.keys()
        ]
        return not any(of_others) and all(
            first <= before.offsets.get(topic, 0) for topic, first in self._first.items()
        )


def _grown(before: Mapping[str, int], after: Mapping[str, int], name: str) -> int:
    return after.get(name, 0) - before.get(name, 0)


class BatchSpans:
    """The first and the last answer of each batch of a partition.

    Transactions of a partition follow each other, so in a partition of the predictions topic all outputs of a
    batch lie before those of the next one.
    """

    def __init__(self) -> None:
        self._spans: defaultdict[int, dict[int, tuple[Found, Found]]] = defaultdict(dict)
        """By partition of the predictions topic, then by number of the batch."""

    def note(self, number: int, found: Found) -> None:
        """Add an answer of the batch with a number, as `BatchCounts` numbers batches."""
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
