"""The label join: it pairs labels with the examples of their events, by event id.

Everything kept here is bounded: by event time (`timeout_seconds`), by number (`capacity`) and by size
(`max_bytes`); the oldest leaves first. The clock is the largest event time seen and sizes are estimated from
contents alone, so the same records always give the same joins.

`label_join.pxd` gives this module its C types.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, Self

from perceptron_core import DamagedError
from perceptron_core.formats.packed import Packed, PackedLater, PackedMapping, pack_around
from service.messages.labels import TrueLabel
from service.partition.examples import Example, example_of, pack_rows, row_of
from service.partition.matched_delays import MatchedDelays
from service.partition.parts.part import Part, PartMetric

_PACKED_AT_ONCE: Final = 1000
"""Examples: a millisecond or two."""
WAITING_LABELS: Final = "waiting_labels"
_OF_CHANGES: Final = frozenset({"dropped", "changed", "pending"})
"""What changes have besides a state."""


class EarlyLabel(NamedTuple):
    """A label that came before its event."""

    truth: TrueLabel
    timestamp_ms: int
    weight: float | None = None


class LabelJoin(Part):
    """Keeps examples for the labels to come, and labels for the events to come.

    Parameters
    ----------
    timeout_seconds
        Event time after which an example or an early label is let go.
    capacity
        Most examples kept, and most early labels, and most ids of unlabelled examples let go.
    max_bytes
        Most memory for examples, as `Example.compact` estimates it; the newest is kept whatever its size.
    truth_on_timeout
        The class of an event whose label does not come in time: its example gets that as a provisional label
        (`overdue`); None if it has none then.
    is_matched
        Whether such an example is learned before, as late as labels of other classes come.
    correction_seconds
        For how long after the timeout such an example is kept, so that a label that comes later can correct
        it.

    Attributes
    ----------
    examples : dict
        The kept examples by event id, oldest first; changed by the methods alone.
    early : dict
        The labels that wait for their events, by event id; likewise.
    n_pending : int
        Examples kept that have no label yet.
    n_displaced : int
        Examples that gave way to newer ones while their label, or one in its place, could still come; the
        caller takes them out.
    size_bytes : int
        Of all examples kept, together.
    max_bytes : float
        As given; infinite while batches are replayed that were learned without this limit.

    """

    name = "join"

    def __init__(
        self,
        timeout_seconds: float,
        capacity: int,
        max_bytes: float = math.inf,
        *,
        truth_on_timeout: TrueLabel | None = None,
        is_matched: bool = False,
        correction_seconds: float = 0.0,
    ) -> None:
        super().__init__()
        self._timeout_ms = int(timeout_seconds * 1000)
        self.truth_on_timeout = truth_on_timeout
        self._times_out = truth_on_timeout is not None
        self._kept_ms = self._timeout_ms + self._times_out * int(1000 * correction_seconds)
        self.delays = MatchedDelays(self._timeout_ms) if is_matched and self._times_out else None
        self._capacity = capacity
        self.max_bytes = max_bytes
        self._now_ms = 0
        self.examples: dict[str, Example] = {}
        self._in_order: deque[Example] = deque()
        """The same, as a dictionary is slow to name its first key where many were deleted."""
        self._waiting: deque[Example] = deque()
        """The last of them, from the first on whose time is not over; empty where none times out."""
        self.early: OrderedDict[str, EarlyLabel] = OrderedDict()
        self._expired: OrderedDict[str, None] = OrderedDict()
        self.n_pending = self.n_evicted = 0
        self.size_bytes = 0
        self._changed: list[str] | None = None
        """Ids of examples that changed since `changes` was called, some gone since; None: it never was."""
        self._n_copied = self._n_dropped = 0
        """Examples at that copy, and those dropped since, of these or later ones."""

    @classmethod
    def of(cls, settings: Any) -> Self:  # noqa: ANN401 - see Part
        """Make the join that the settings describe."""
        return cls(
            settings.label_timeout_seconds,
            settings.max_pending,
            settings.max_pending_bytes,
            truth_on_timeout=settings.events.truth_on_timeout(settings.classes),
            is_matched=settings.events.unlabelled == "matched",
            correction_seconds=settings.correction_seconds,
        )

    @property
    def timeout_seconds(self) -> float:
        """Event time after which an example without a label is overdue."""
        return self._timeout_ms / 1000.0  # of C's division by 1000 the remainder would be lost

    def is_overdue(self, example: Example) -> bool:
        """Return whether the time of an example for its label is over."""
        return example.timestamp_ms < self._now_ms - self._timeout_ms

    def overdue(self, timestamp_ms: int) -> Iterator[Example]:
        """Yield the examples without a label whose time is over when event time advances to this.

        The caller learns each before it asks for the next. They come in the order in which they were kept:
        the first whose time is not over holds up those after it. So what waits is all that is known from the
        examples alone, and `restore` need not be told.
        """
        horizon = timestamp_ms - self._timeout_ms if timestamp_ms > self._now_ms else -math.inf
        while self._waiting:
            example = self._waiting[0]
            if example.truth is None:
                if example.timestamp_ms >= horizon:
                    return
                yield example
            self._waiting.popleft()

    def due(self, timestamp_ms: int) -> Iterator[tuple[Example, float]]:
        """Yield what `MatchedDelays.due` does when event time advances to this; see `overdue`."""
        if self.delays is not None and timestamp_ms > self._now_ms:
            yield from self.delays.due(timestamp_ms, self.examples)

    def note_delay(self, example: Example, truth: TrueLabel, timestamp_ms: int) -> None:
        """Note how late the first label of an example came, if it says another class than the time-out."""
        if self.delays is None or truth == self.truth_on_timeout:
            return
        delay_ms = max(0, timestamp_ms - example.timestamp_ms)
        if self.delays.note(delay_ms, self._in_order, self._now_ms) and self._changed is not None:
            self._forget_copy()

    def advance(self, timestamp_ms: int) -> Sequence[str]:
        """Advance event time; return the ids of the early labels dropped, whose event never came."""
        if timestamp_ms <= self._now_ms:
            return ()
        self._now_ms = timestamp_ms
        horizon, kept_from = timestamp_ms - self._timeout_ms, timestamp_ms - self._kept_ms
        while self._in_order:
            oldest = self._in_order[0]
            if oldest.timestamp_ms >= kept_from:
                break
            self._drop_oldest_example()
        orphans = []
        while len(self.early) and next(iter(self.early.values())).timestamp_ms < horizon:
            orphans.append(self.early.popitem(last=False)[0])
        return orphans

    def keep(self, example: Example) -> None:
        """Keep an example of an event that has none; the oldest gives way when there is no room."""
        size_bytes, examples = example.compact(), self.examples
        while examples and (len(examples) >= self._capacity or self.size_bytes + size_bytes > self.max_bytes):
            self.n_evicted += self._drop_oldest_example()
        examples[example.event_id] = example
        self._in_order.append(example)
        if self._times_out:
            self._waiting.append(example)
        if self.delays is not None:
            self.delays.keep(example, self._now_ms)
        self.size_bytes += size_bytes
        self.n_pending += example.truth is None

    def stop_waiting(self, example: Example) -> None:
        """Note that the label of a kept example has come."""
        self.n_pending -= 1
        self.note_change(example)

    def note_change(self, example: Example) -> None:
        """Note that the truth and the step of a kept example are others."""
        if self._changed is not None:
            if len(self._changed) >= self._capacity:
                self._forget_copy()
            self._changed.append(example.event_id)

    def take_provisionally(self, example: Example) -> None:
        """Note that a kept example has the label of its time-out; few are asked for again, so pack it."""
        before = example.size_bytes
        example.is_provisional = True
        self.size_bytes += example.pack() - before

    def forget_steps(self) -> None:
        """Reset the step of every kept example, as if none had changed the model."""
        if self._changed is not None:
            self._forget_copy()
        for example in self.examples.values():
            example.step = 0.0

    def _forget_copy(self) -> None:
        """Let `changes` say that all that was copied has left, and what is kept is new."""
        self._changed, self._n_copied, self._n_dropped = [], 0, self._capacity

    def hold(self, event_id: str, label: EarlyLabel) -> tuple[str, str] | None:
        """Take a label whose event is not kept: hold it until that comes, unless that was let go.

        Returns what became of a label by this, as counted, and its id: of this one, or of one that gave way
        to it; None if it just waits.
        """
        if self.expired(event_id):
            return "late", event_id
        earlier, dropped = self.early.get(event_id), None
        if earlier is not None and earlier.truth == label.truth:
            return "duplicate", event_id
        if earlier is None and len(self.early) >= self._capacity:
            dropped, _ = self.early.popitem(last=False)
        self.early[event_id] = label
        if earlier is not None:
            return "corrected", event_id
        return None if dropped is None else ("orphan", dropped)

    def expired(self, event_id: str) -> bool:
        """Return whether this event was let go without a label that came, as far as ids are remembered."""
        return event_id in self._expired

    def state(self) -> PackedMapping:
        """Copy everything kept; many examples are packed when the pieces are asked for."""
        return pack_around(self._state(_packed([row_of(example) for example in self._in_order])))

    def changes(self) -> PackedMapping | None:
        """Copy what changed since the last call, for `with_changes`; None the first time."""
        changed, first_new = self._changed, max(0, self._n_copied - self._n_dropped)
        dropped, self._changed = self._n_dropped, []
        self._n_copied, self._n_dropped = len(self.examples), 0
        if changed is None:
            return None
        new = [row_of(example) for example in islice(self._in_order, first_new, None)]
        others = dict.fromkeys(changed)
        for event_id, *_ in new:
            others.pop(event_id, None)
        rows = [row_of(self.examples[event_id]) for event_id in others if event_id in self.examples]
        found = {"dropped": dropped, "changed": _packed(rows), "pending": self.n_pending}
        return pack_around(found | self._state(_packed(new)))

    @classmethod
    def with_changes(
        cls, state: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        """Return a state with what changed since: examples that left, others that changed, and new ones."""
        examples = state["examples"]
        for each in changes:
            changed = {row[0]: row for row in each["changed"]}
            examples = [*(changed.get(row[0], row) for row in examples[each["dropped"] :]), *each["examples"]]
        kept = {name: count for name, count in each.items() if name not in _OF_CHANGES}
        return kept | {"examples": examples}

    def _state(self, examples: object) -> dict[str, Any]:
        return {
            "processing_time_ms": self._now_ms,
            "examples": examples,
            "early": [(event_id, *label) for event_id, label in self.early.items()],
            "expired": list(self._expired),
            **({} if self.delays is None else {"delays": self.delays.state()}),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned. Raises `DamagedError`."""
        self._now_ms, self._changed = state["processing_time_ms"], None
        self.examples, self._in_order = {}, deque()
        self.size_bytes = self.n_pending = 0
        for row in state["examples"]:
            example = example_of(row)
            self.examples[example.event_id] = example
            self._in_order.append(example)
            self.size_bytes += example.compact()
            self.n_pending += example.truth is None
        if len(self.examples) < len(self._in_order):
            raise DamagedError("two pending events have one id")
        self._waiting = deque(self._in_order if self._times_out else ())
        self.early = OrderedDict((event_id, EarlyLabel(*fields)) for event_id, *fields in state["early"])
        self._expired = OrderedDict.fromkeys(state["expired"])
        if self.delays is not None:
            if "delays" in state:
                self.delays.restore(state["delays"])
            self.delays.wait_for(self._in_order)

    def counts(self) -> Mapping[str, int]:
        """Return how many examples have no label yet."""
        return {"pending": self.n_pending}

    @classmethod
    def counts_of(cls, state: Mapping[str, Any]) -> Mapping[str, int | None]:
        """Return the same of a state, or of changes, which say it."""
        if "pending" in state:
            return {"pending": state["pending"]}
        return {"pending": sum(example_of(row).truth is None for row in state["examples"])}

    def metrics(self) -> Sequence[PartMetric]:
        """Return how much waits."""
        waits = "Predictions that wait for their label."
        memory = "Estimated memory of the events kept for their labels and for corrections."
        return [
            PartMetric("pending_labels", waits, self.n_pending, is_gauge=True),
            PartMetric("pending_bytes", memory, self.size_bytes, is_gauge=True),
            PartMetric(WAITING_LABELS, "Labels that wait for their event.", len(self.early), is_gauge=True),
        ]

    def _drop_oldest_example(self) -> bool:
        """Drop it; return whether no label of it had come."""
        if self._times_out and len(self._waiting) >= len(self.examples):
            self._waiting.popleft()
        example = self._in_order.popleft()
        del self.examples[example.event_id]
        self.size_bytes -= example.size_bytes
        self.n_pending -= example.truth is None
        lacks_label = example.truth is None or example.is_provisional
        if lacks_label:
            if len(self._expired) >= self._capacity:
                self._expired.popitem(last=False)
            self._expired[example.event_id] = None
        self._n_dropped += 1
        return lacks_label


def _packed(rows: list[tuple[Any, ...]]) -> Packed:
    packed = Packed([*pack_rows(rows[:_PACKED_AT_ONCE])])
    if len(rows) <= _PACKED_AT_ONCE:
        return packed
    size_bytes = packed.size_bytes * len(rows) // _PACKED_AT_ONCE
    return PackedLater(size_bytes, partial(pack_rows, rows))
