"""The label join: pairs labels with pending events, by event id.

Its state is bounded by event time (`timeout_seconds`), number (`capacity`) and size (`max_bytes`); the oldest
examples leave first. The clock is the largest event time seen, and sizes are estimated from contents alone,
so the same records always give the same joins.

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
"""Up to this many examples are packed at once: that takes a millisecond or two."""
WAITING_LABELS: Final = "waiting_labels"
_OF_CHANGES: Final = frozenset({"dropped", "changed", "pending_labels"})
"""Keys that changes have in addition to the keys of a state."""


class EarlyLabel(NamedTuple):
    """A label that arrived before its event."""

    truth: TrueLabel
    timestamp_ms: int
    weight: float | None = None


class LabelJoin(Part):
    """Keeps pending events for later labels, and early labels for later events.

    Parameters
    ----------
    timeout_seconds
        Event time after which a pending event or an early label expires.
    capacity
        The largest number of pending events, of early labels, and of remembered ids of expired events.
    max_bytes
        Memory limit of the examples, as `Example.compact` estimates it; the newest stays whatever its size.
    truth_on_timeout
        The provisional label of an event whose label does not arrive in time (`overdue`); None: it gets none.
    is_matched
        Whether such an event is learned earlier, at an age at which labels of other classes arrive.
    correction_seconds
        How long after the timeout such an event stays, so that a later label can correct it.

    Attributes
    ----------
    examples : dict
        The examples by event id, oldest first; changed only by the methods.
    early : dict
        The early labels by event id; changed only by the methods.
    n_pending_labels : int
        Examples without a label.
    n_provisional : int
        Examples that got the timeout's label, which a real label may still correct.
    n_evicted : int
        Examples evicted without a label while it could still arrive; the caller resets it.
    size_bytes : int
        Estimated size of all examples.
    max_bytes : float
        As given; infinite during the replay of batches that were learned without this limit.

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
        """The examples in order: finding a dictionary's first key is slow after many deletions."""
        self._waiting: deque[Example] = deque()
        """The examples that have not timed out, in order; empty without `truth_on_timeout`."""
        self.early: OrderedDict[str, EarlyLabel] = OrderedDict()
        self._expired: OrderedDict[str, None] = OrderedDict()
        self.n_pending_labels = self.n_provisional = self.n_evicted = 0
        self.size_bytes = 0
        self._changed: list[str] | None = None
        """Ids of examples changed since the last call of `changes`, even if dropped; None before it."""
        self._n_copied = self._n_dropped = 0
        """Number of examples at the last call of `changes`, and number of examples dropped since."""

    @classmethod
    def of(cls, settings: Any) -> Self:  # noqa: ANN401 - see Part
        """Make the join from the settings."""
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
        return self._timeout_ms / 1000.0  # in C, division by the integer 1000 would drop the remainder

    def is_overdue(self, example: Example) -> bool:
        """Return whether an example has timed out."""
        return example.timestamp_ms < self._now_ms - self._timeout_ms

    def overdue(self, timestamp_ms: int) -> Iterator[Example]:
        """Yield the unlabelled examples that time out when event time advances to `timestamp_ms`.

        The caller learns each before it asks for the next. They come in order of arrival: an example that has
        not timed out holds up those after it. So the waiting examples follow from the examples alone, and a
        state need not list them.
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
        """Yield each example due before `timestamp_ms`, with the share of labels that arrive earlier."""
        if self.delays is not None and timestamp_ms > self._now_ms:
            yield from self.delays.take_due(timestamp_ms, self.examples)

    def note_delay(self, example: Example, truth: TrueLabel, timestamp_ms: int) -> None:
        """Note the delay of an example's first label, if its class is not the timeout's class."""
        if self.delays is None or truth == self.truth_on_timeout:
            return
        delay_ms = max(0, timestamp_ms - example.timestamp_ms)
        if self.delays.add_delay(delay_ms, self._in_order, self._now_ms) and self._changed is not None:
            self._forget_copy()

    def advance(self, timestamp_ms: int) -> Sequence[str]:
        """Advance event time; return the ids of expired early labels, whose events never arrived."""
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
        """Keep the example of a new event; evict the oldest if there is no room."""
        size_bytes, examples = example.compact(), self.examples
        while examples and (len(examples) >= self._capacity or self.size_bytes + size_bytes > self.max_bytes):
            self.n_evicted += self._drop_oldest_example()
        examples[example.event_id] = example
        self._in_order.append(example)
        if self._times_out:
            self._waiting.append(example)
        if self.delays is not None:
            self.delays.schedule(example, self._now_ms)
        self.size_bytes += size_bytes
        self.n_pending_labels += example.truth is None

    def stop_waiting(self, example: Example) -> None:
        """Note that the label of an example has arrived."""
        self.n_pending_labels -= 1
        self.note_change(example)

    def note_change(self, example: Example) -> None:
        """Note that the truth and the step of an example changed."""
        if self._changed is not None:
            if len(self._changed) >= self._capacity:
                self._forget_copy()
            self._changed.append(example.event_id)

    def take_provisionally(self, example: Example) -> None:
        """Note that an example got its timeout's label; pack it, as it is rarely needed again."""
        before = example.size_bytes
        example.is_provisional = True
        self.n_provisional += 1
        self.size_bytes += example.pack() - before

    def forget_steps(self) -> None:
        """Reset the step of every example, as if none had changed the model."""
        if self._changed is not None:
            self._forget_copy()
        for example in self.examples.values():
            example.step = 0.0

    def _forget_copy(self) -> None:
        """Make the next `changes` report every copied example as gone and every present one as new."""
        self._changed, self._n_copied, self._n_dropped = [], 0, self._capacity

    def hold(self, event_id: str, label: EarlyLabel) -> tuple[str, str] | None:
        """Take a label without a pending event: hold it for the event, unless the event has expired.

        Returns the outcome and the id of a label that ends here: this label, or an older one that it evicts;
        None if it just waits.
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
        """Return whether this event expired without a label, as far as ids are remembered."""
        return event_id in self._expired

    def state(self) -> PackedMapping:
        """Copy the state; many examples are packed lazily, when the chunks are read."""
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
        changes = {"dropped": dropped, "changed": _packed(rows), "pending_labels": self.n_pending_labels}
        return pack_around(changes | self._state(_packed(new)))

    @classmethod
    def with_changes(
        cls, state: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        """Return a state with later changes applied: removed, changed and new examples."""
        examples = state["examples"]
        for each in changes:
            changed = {row[0]: row for row in each["changed"]}
            examples = [*(changed.get(row[0], row) for row in examples[each["dropped"] :]), *each["examples"]]
        kept = {name: count for name, count in each.items() if name not in _OF_CHANGES}
        return kept | {"examples": examples}

    def _state(self, examples: object) -> dict[str, Any]:
        return {
            "event_time_ms": self._now_ms,
            "examples": examples,
            "early": [(event_id, *label) for event_id, label in self.early.items()],
            "expired": list(self._expired),
            **({} if self.delays is None else {"delays": self.delays.state()}),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned. Raises `DamagedError`."""
        self._now_ms, self._changed = state["event_time_ms"], None
        self.examples, self._in_order = {}, deque()
        self.size_bytes = self.n_pending_labels = self.n_provisional = 0
        for row in state["examples"]:
            example = example_of(row)
            self.examples[example.event_id] = example
            self._in_order.append(example)
            self.size_bytes += example.compact()
            self.n_pending_labels += example.truth is None
            self.n_provisional += example.is_provisional
        if len(self.examples) < len(self._in_order):
            raise DamagedError("two pending events have one id")
        self._waiting = deque(self._in_order if self._times_out else ())
        self.early = OrderedDict((event_id, EarlyLabel(*fields)) for event_id, *fields in state["early"])
        self._expired = OrderedDict.fromkeys(state["expired"])
        if self.delays is not None:
            if "delays" in state:
                self.delays.restore(state["delays"])
            self.delays.replace_waiting(self._in_order)

    def counts(self) -> Mapping[str, int]:
        """Return the number of predictions that wait for their label."""
        return {"pending_labels": self.n_pending_labels}

    @classmethod
    def counts_of(cls, state: Mapping[str, Any]) -> Mapping[str, int | None]:
        """Return the counts of a state or of changes."""
        if "pending_labels" in state:
            return {"pending_labels": state["pending_labels"]}
        return {"pending_labels": sum(example_of(row).truth is None for row in state["examples"])}

    def metrics(self) -> Sequence[PartMetric]:
        """Return the pending events and early labels."""
        gauges = (
            ("pending_bytes", "Estimated memory of the pending events.", self.size_bytes),
            ("pending_labels", "Predictions that wait for their label.", self.n_pending_labels),
            ("provisional_labels", "Labels of the timeout that a label may correct.", self.n_provisional),
            (WAITING_LABELS, "Labels that wait for their event.", len(self.early)),
        )
        return [PartMetric(*gauge, is_gauge=True) for gauge in gauges]

    def _drop_oldest_example(self) -> bool:
        """Drop the oldest example; return whether it had no label, not even the timeout's."""
        if self._times_out and len(self._waiting) >= len(self.examples):
            self._waiting.popleft()
        example = self._in_order.popleft()
        del self.examples[example.event_id]
        self.size_bytes -= example.size_bytes
        self.n_pending_labels -= example.truth is None
        self.n_provisional -= example.is_provisional
        if example.truth is None or example.is_provisional:
            if len(self._expired) >= self._capacity:
                self._expired.popitem(last=False)
            self._expired[example.event_id] = None
        self._n_dropped += 1
        return example.truth is None


def _packed(rows: list[tuple[Any, ...]]) -> Packed:
    packed = Packed([*pack_rows(rows[:_PACKED_AT_ONCE])])
    if len(rows) <= _PACKED_AT_ONCE:
        return packed
    size_bytes = packed.size_bytes * len(rows) // _PACKED_AT_ONCE
    return PackedLater(size_bytes, partial(pack_rows, rows))
