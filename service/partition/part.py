"""A part of a partition: a state that is a function of the partition's records alone.

Snapshots, recovery, metrics, the page, `status` and `verify` go over the parts and name none of them. The
limit on refused messages (`rejection_limit`) is no part: it begins again with each process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

from perceptron_core import DamagedError, from_bytes
from perceptron_core.formats.model_changes import with_changes
from perceptron_core.formats.packed import Packed, pack_bytes
from service.batches import RecordBatch
from service.messages.decoder import Incoming
from service.messages.labels import Truth
from service.models.learner import Learner
from service.partition.examples import Example, LearnedExamples
from service.partition.label_join import LabelJoin
from service.stream import Output


class Figure(NamedTuple):
    """The present value of a metric of one partition."""

    metric: str
    """Its name without `perceptron_` and `_total`; its unit comes last."""
    documentation: str
    value: float | Mapping[str, float | None] | Mapping[tuple[str, str], int] | None
    """Values by `by` where that is given; None: there is none yet."""
    by: str | tuple[str, ...] = ""
    """The label by which values differ, or labels, beside the partition."""
    is_gauge: bool = False


class Part:
    """A part of a partition; as it stands, one that counts.

    A part is asked for events only if it defines `take`, and for labels only if it defines `observe`: this is
    decided once, when the partition is opened.
    """

    name: ClassVar[str]
    """What snapshots call its state."""
    counted: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What `count` counts, by name: the documentation of its metric."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401, ARG003 - the settings do I/O, which no part does
        """Make the part that the settings describe; None if they turn it off."""
        return cls()

    def take(self, event: Incoming, timestamp_ms: int) -> None:
        """Take an event that was predicted."""

    def observe(self, learned: LearnedExamples) -> None:
        """Take the labelled predictions of a batch."""

    def outputs(self, records: RecordBatch) -> Sequence[Output]:  # noqa: ARG002
        """Return what to write behind the answers of the batch that was observed: of these records."""
        return ()

    def state(self) -> Any:  # noqa: ANN401 - each part knows its own
        """Return the whole state as plain values."""
        return dict(self.count)

    def packed_state(self) -> Any:  # noqa: ANN401
        """Copy what `state` returns; values may be packed, or to be packed when they are asked for."""
        return self.state()

    def track_changes(self) -> None:
        """Note from now on what changes; the state was copied just now."""

    def packed_changes(self) -> Any:  # noqa: ANN401
        """Copy what changed since the last copy, for `with_changes`: all, if the part is small.

        None where it is not known.
        """
        return self.packed_state()

    @classmethod
    def with_changes(cls, state: Any, changes: Sequence[Any]) -> Any:  # noqa: ANN401, ARG003
        """Return a state with what changed since, the oldest change first."""
        return changes[-1]

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

    def summary(self, cells: Mapping[tuple[Truth, Truth], int]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what the summary of a run says of it; `cells` are the predictions by (truth, predicted)."""
        return {}

    def figures(self) -> Sequence[Figure]:
        """Return its metrics."""
        return [Figure(name, text, self.count[name]) for name, text in self.counted.items()]


class Kept(Part):
    """Whatever else has a state, as a part of this name."""

    def __init__(self, name: str, kept: Any) -> None:  # noqa: ANN401
        self.name = name  # type: ignore[misc] # of each
        self._kept = kept

    def state(self) -> Any:  # noqa: ANN401
        """Return its state."""
        return self._kept.state()

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore what `state` returned."""
        self._kept.restore(state)


class ModelPart(Part):
    """The model."""

    name = "model"

    def __init__(self, learner: Learner, *, uses_fast_path: bool = False) -> None:
        self._learner = learner
        self._uses_fast_path = uses_fast_path

    def state(self) -> bytes:
        """Write the model down."""
        return self._learner.dump()

    def packed_state(self) -> Packed:
        """Copy the model, to be packed later."""
        return pack_bytes(self._learner.freeze())

    def track_changes(self) -> None:
        """Note from now on what changes in the model."""
        self._learner.track_changes()

    def packed_changes(self) -> Packed | None:
        """Copy what changed in the model since, to be packed later; None where that is not known."""
        changes = self._learner.freeze_changes()
        return None if changes is None else pack_bytes(changes)

    @classmethod
    def with_changes(cls, state: bytes, changes: Sequence[bytes]) -> bytes:
        """Return a state with what changed since. Raises `DamagedError` if they do not belong together."""
        return with_changes(state, changes)

    def restore(self, state: bytes) -> None:
        """Load the model. Raises `DamagedError` if it cannot be read."""
        self._learner.load(state)

    def counts(self) -> Mapping[str, int]:
        """Return the updates."""
        return {"updates": self._learner.updates}

    @classmethod
    def counts_of(cls, state: bytes) -> Mapping[str, int | None]:
        """Return the updates; None for a River model, whose pickle is not to be opened for that."""
        try:
            return {"updates": from_bytes(state).n_updates}
        except DamagedError:
            return {"updates": None}

    def figures(self) -> Sequence[Figure]:
        """Return the updates, and whether compiled code learns and answers."""
        fast = "Whether compiled code processes the records of the common case (1), or none (0)."
        return [
            Figure("updates", "Updates of the model.", self._learner.updates),
            Figure("fast_path", fast, self._uses_fast_path, is_gauge=True),
        ]


class JoinPart(Kept):
    """What waits for labels."""

    name = "join"

    def __init__(self, join: LabelJoin) -> None:
        super().__init__(self.name, join)

    def packed_state(self) -> Mapping[str, Any]:
        """Return everything kept, packed."""
        return self._kept.packed_state()  # type: ignore[no-any-return]

    def track_changes(self) -> None:
        """Note from now on what changes in what is kept."""
        self._kept.track_changes()

    def packed_changes(self) -> Mapping[str, Any]:
        """Copy what changed in what is kept since."""
        return self._kept.packed_changes()  # type: ignore[no-any-return]

    @classmethod
    def with_changes(
        cls, state: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        """Return a state with what changed since: examples that left, others that changed, and new ones."""
        examples = state["examples"]
        for each in changes:
            changed = {row[0]: row for row in each.get("changed", ())}
            left = examples[each.get("dropped", len(examples)) :]
            examples = [*(changed.get(row[0], row) for row in left), *each["examples"]]
        newest = {name: value for name, value in changes[-1].items() if name in state}
        return newest | {"examples": examples}

    def counts(self) -> Mapping[str, int]:
        """Return how many examples have no label yet."""
        return {"pending": self._kept.n_pending}

    @classmethod
    def counts_of(cls, state: Mapping[str, Any]) -> Mapping[str, int | None]:
        """Return the same of a state."""
        if "pending" in state:  # of changes
            return {"pending": state["pending"]}
        return {"pending": sum(Example(*fields).truth is None for _, *fields in state["examples"])}

    def figures(self) -> Sequence[Figure]:
        """Return how much waits."""
        waits = "Predictions that wait for their label."
        memory = "Estimated memory of the events kept for their labels and for corrections."
        return [
            Figure("pending_labels", waits, self._kept.n_pending, is_gauge=True),
            Figure("pending_bytes", memory, self._kept.size_bytes, is_gauge=True),
        ]
