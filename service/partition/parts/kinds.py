"""The parts of a partition: the model, the label join, the counts, and those in `OPTIONAL_PARTS`.

Add a new part to `OPTIONAL_PARTS`; no other place names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core import DamagedError, from_bytes
from perceptron_core.formats.model_changes import with_changes as model_with_changes
from perceptron_core.formats.packed import Packed, pack_bytes
from service.models.learner import Learner
from service.partition.label_join import LabelJoin
from service.partition.parts.counters import Counters
from service.partition.parts.decisions import Decisions
from service.partition.parts.drift import Drift
from service.partition.parts.part import Part, PartMetric
from service.partition.parts.windows import Windows


class Kept(Part):
    """Wraps another object with a state as a part."""

    def __init__(self, name: str, kept: Any) -> None:  # noqa: ANN401
        self.name = name  # type: ignore[misc] # of each
        self._kept = kept

    def state(self) -> Any:  # noqa: ANN401
        """Return the object's state."""
        return self._kept.state()

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore the object's state."""
        self._kept.restore(state)


class ModelPart(Part):
    """The model."""

    name = "model"

    def __init__(self, learner: Learner, *, uses_fast_path: bool = False) -> None:
        self._learner = learner
        self._uses_fast_path = uses_fast_path

    def state(self) -> Packed:
        """Copy the model; it is packed later."""
        return pack_bytes(self._learner.state())

    def changes(self) -> Packed | None:
        """Copy the changes of the model; they are packed later."""
        changes = self._learner.changes()
        return None if changes is None else pack_bytes(changes)

    @classmethod
    def with_changes(cls, state: bytes, changes: Sequence[bytes]) -> bytes:
        """Return a state with later changes applied. Raises `DamagedError` if they do not belong together."""
        return model_with_changes(state, changes)

    def restore(self, state: bytes) -> None:
        """Load the model. Raises `DamagedError` if it cannot be read."""
        self._learner.load(state)

    def counts(self) -> Mapping[str, int]:
        """Return the number of updates."""
        return {"updates": self._learner.updates}

    @classmethod
    def counts_of(cls, state: bytes) -> Mapping[str, int | None]:
        """Return the number of updates; None for a River model, whose pickle is not opened for that."""
        try:
            return {"updates": from_bytes(state).n_updates}
        except DamagedError:
            return {"updates": None}

    def metrics(self) -> Sequence[PartMetric]:
        """Return the number of updates, and whether compiled code learns and predicts, as metrics."""
        fast = "Whether compiled code processes the records of the common case (1), or none (0)."
        return [
            PartMetric("updates", "Updates of the model.", self._learner.updates),
            PartMetric("fast_path", fast, self._uses_fast_path, is_gauge=True),
        ]


REQUIRED_PARTS: Final[tuple[type[Part], ...]] = (ModelPart, LabelJoin, Counters)
"""Parts that every processor has, in the order in which snapshots have them."""
OPTIONAL_PARTS: Final[tuple[type[Part], ...]] = (Windows, Decisions, Drift)
"""Parts that settings can turn on."""
OTHER_KEYS: Final = frozenset({"spelling", "classes", "arithmetic", "schemas", "vectors"})
"""Further keys of a state."""


def make_parts(settings: Any) -> tuple[Part, ...]:  # noqa: ANN401 - see Part.of
    """Make the parts of the settings, without the model; the label join and the counts come first."""
    kinds: tuple[type[Part], ...] = (LabelJoin, Counters, *OPTIONAL_PARTS)
    made = (kind.of(settings) for kind in kinds)
    return tuple(part for part in made if part is not None)


def counts_of(state: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the counts of all parts of a state, as in progress records."""
    kinds = (kind for kind in (*REQUIRED_PARTS, *OPTIONAL_PARTS) if kind.name in state)
    return {name: count for kind in kinds for name, count in kind.counts_of(state[kind.name]).items()}


def with_changes(states: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a state with changes applied: the first of `states` is whole, the others are changes.

    Raises `DamagedError` if they do not belong together.
    """
    first, *changes = states
    state = dict(changes[-1])
    for kind in (*REQUIRED_PARTS, *OPTIONAL_PARTS):
        if kind.name in state and all(kind.name in each for each in states):
            state[kind.name] = kind.with_changes(first[kind.name], [change[kind.name] for change in changes])
    return state


def unknown_parts(state: Mapping[str, Any]) -> list[str]:
    """List the parts of a state that this release does not have."""
    return sorted(state.keys() - OTHER_KEYS - {kind.name for kind in (*REQUIRED_PARTS, *OPTIONAL_PARTS)})
