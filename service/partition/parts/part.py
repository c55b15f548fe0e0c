"""A part of a partition: a state that is a function of the partition's records alone.

Snapshots, recovery, metrics, the page, `status` and `verify` handle all parts alike, without naming any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from service.messages.decoder import Incoming
from service.messages.labels import TrueLabel
from service.stream.batches import RecordBatch
from service.stream.protocol import Output

if TYPE_CHECKING:
    from service.partition.examples import Example, LearnedExamples  # which import this module


class PartMetric(NamedTuple):
    """The present value of a partition's metric."""

    metric: str
    """The metric's name without `perceptron_` and `_total`; it ends with the unit."""
    documentation: str
    value: float | Mapping[str, float | None] | Mapping[tuple[str, str], int] | None
    """The value, or with `by` the values by label; None: there is none yet."""
    by: str | tuple[str, ...] = ""
    """The metric's label or labels besides the partition."""
    is_gauge: bool = False


class Part:
    """A part of a partition; this base class has counts. `part.pxd` gives this module its C types.

    Of `features`, `on_event`, `on_label` and `on_batch`, only methods that a subclass overrides are called;
    this is decided when the partition is opened.
    """

    name: ClassVar[str] = ""
    """The key of its state in snapshots."""
    counted: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The names in `count`, each with the documentation of its metric."""
    feature_names: frozenset[str] = frozenset()
    """The names of the features that it adds."""
    needs_events: ClassVar[bool] = True
    """Whether `on_event` needs the event; then the fast path, which makes none, leaves events to Python."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401, ARG003 - the settings module imports I/O
        """Make the part from the settings; None if it is off."""
        return cls()

    def start(self, *, has_log_odds: bool, is_calibrated: bool) -> None:
        """Start with a learner, given whether its scores are log-odds and its probabilities calibrated."""

    def features(self, features: dict[str, Any], event: Incoming, timestamp_ms: int) -> None:
        """Add the features of `feature_names` to the features of an event, without changing the part."""

    def on_event(self, example: Example, event: Incoming | None, timestamp_ms: int, is_new: bool) -> bytes:  # noqa: ARG002, FBT001 - compiled, there are no keywords
        """Take a predicted event; return the fields that this part adds to the prediction.

        `is_new` is False for a repeated event, whose example is discarded. The event is None only if no part
        `needs_events`.
        """
        return b""

    def on_label(self, example: Example, before: TrueLabel | None, truth: TrueLabel) -> None:
        """Take the label of an example; `before` is the label that it corrects, if any."""

    def on_batch(self, learned: LearnedExamples) -> None:
        """Take the labelled predictions of a batch."""

    def outputs(self, records: RecordBatch) -> Sequence[Output]:  # noqa: ARG002
        """Return further outputs of the observed batch, which are written after its predictions."""
        return ()

    def state(self) -> Any:  # noqa: ANN401 - each part knows its own
        """Copy the whole state in plain values; parts of it may be packed, now or lazily."""
        return dict(self.count)

    def changes(self) -> Any:  # noqa: ANN401
        """Copy the changes since the last call, for `with_changes`; a small part copies its whole state.

        None if the changes are unknown, as in the first call; from then on, they are noted.
        """
        return self.state()

    @classmethod
    def with_changes(cls, state: Any, changes: Sequence[Any]) -> Any:  # noqa: ANN401, ARG003
        """Return a state with changes applied, the oldest first."""
        *_, newest = changes
        return newest

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore a state; None is from a snapshot without this part."""
        self.count = Counter(state)

    def counts(self) -> Mapping[str, int]:
        """Return its counts for progress records, `status` and the page; recovery must reach the same."""
        return {name: self.count[name] for name in self.counted}

    @classmethod
    def counts_of(cls, state: Any) -> Mapping[str, int | None]:  # noqa: ANN401
        """Return the counts of a state; None for a count that the state does not have."""
        return {name: state.get(name, 0) for name in cls.counted}

    def summary(self, cells: Mapping[tuple[TrueLabel, TrueLabel], int]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return its entries in a run's summary; `cells` are the predictions by (truth, predicted)."""
        return {}

    def metrics(self) -> Sequence[PartMetric]:
        """Return its metrics."""
        return [PartMetric(name, text, self.count[name]) for name, text in self.counted.items()]
