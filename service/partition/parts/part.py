"""A part of a partition: a state that is a function of the partition's records alone.

Snapshots, recovery, metrics, the page, `status` and `verify` go over the parts and name none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from service.messages.incoming import Incoming
from service.messages.labels import TrueLabel
from service.stream.batches import RecordBatch
from service.stream.protocol import Output

if TYPE_CHECKING:
    from service.partition.examples import Example, LearnedExamples  # which know parts


class PartMetric(NamedTuple):
    """The present value of a metric of one partition."""

    metric: str
    """Its name without `perceptron_` and `_total`; its unit comes last."""
    documentation: str
    value: float | Mapping[str, float | None] | Mapping[tuple[str, str], int] | None
    """Values by `by` where that is given; None: there is none yet."""
    by: str | tuple[str, ...] = ""
    """The label by which values differ, or labels, besides the partition."""
    is_gauge: bool = False


class Part:
    """A part of a partition; as it stands, one that counts. `part.pxd` gives this module its C types.

    A part is asked only for what it defines of `features`, `predicted`, `learned` and `observe`: this is
    decided once, when the partition is opened.
    """

    name: ClassVar[str] = ""
    """What snapshots call its state."""
    counted: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What `count` counts, by name: the documentation of its metric."""
    feature_names: frozenset[str] = frozenset()
    """The features that it makes."""
    needs_events: ClassVar[bool] = True
    """Whether `predicted` needs the event; compiled code, which makes none, then leaves events to Python."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401, ARG003 - the settings do I/O, which no part does
        """Make the part that the settings describe; None if they turn it off."""
        return cls()

    def start(self, *, has_log_odds: bool, is_calibrated: bool) -> None:
        """Begin with a learner, whose scores are log-odds or not, of calibrated probabilities or not."""

    def features(self, found: dict[str, Any], event: Incoming, timestamp_ms: int) -> None:
        """Add `feature_names` to the features of an event; change nothing else."""

    def predicted(self, example: Example, event: Incoming | None, timestamp_ms: int, is_new: bool) -> bytes:  # noqa: ARG002, FBT001 - compiled, there are no keywords
        """Take an event that was predicted; return the fields that the prediction has of it.

        `is_new` unless the event came before: what the example is given is then lost. The event is None only
        where no part `needs_events`.
        """
        return b""

    def learned(self, example: Example, before: TrueLabel | None, truth: TrueLabel) -> None:
        """Take the label of an example; `before` is the one that it corrects."""

    def observe(self, learned: LearnedExamples) -> None:
        """Take the labelled predictions of a batch."""

    def outputs(self, records: RecordBatch) -> Sequence[Output]:  # noqa: ARG002
        """Return what to write behind the answers of the batch that was observed: of these records."""
        return ()

    def state(self) -> Any:  # noqa: ANN401 - each part knows its own
        """Copy the whole state, in plain values; some may be packed, or to be packed when asked for."""
        return dict(self.count)

    def changes(self) -> Any:  # noqa: ANN401
        """Copy what changed since the last call, for `with_changes`: all, if the part is small.

        None where it is not known, as the first time: from then on, changes are noted.
        """
        return self.state()

    @classmethod
    def with_changes(cls, state: Any, changes: Sequence[Any]) -> Any:  # noqa: ANN401, ARG003
        """Return a state with what changed since, the oldest change first."""
        *_, newest = changes
        return newest

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore what `state` returned; None from a snapshot that was made without this part."""
        self.count = Counter(state)

    def counts(self) -> Mapping[str, int]:
        """Return what progress records, `status` and the page say of it; recovery must come to the same."""
        return {name: self.count[name] for name in self.counted}

    @classmethod
    def counts_of(cls, state: Any) -> Mapping[str, int | None]:  # noqa: ANN401
        """Return the counts of a part with this state; None for one that the state does not tell."""
        return {name: state.get(name, 0) for name in cls.counted}

    def summary(self, cells: Mapping[tuple[TrueLabel, TrueLabel], int]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what the summary of a run says of it; `cells` are the predictions by (truth, predicted)."""
        return {}

    def metrics(self) -> Sequence[PartMetric]:
        """Return its metrics."""
        return [PartMetric(name, text, self.count[name]) for name, text in self.counted.items()]
