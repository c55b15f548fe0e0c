"""The rounds of a shared model, lived again. In: a stream's lanes. Out: rounds applied as progress tells.

And counts of updates, by feature and (as `None`) in all: those that a learner makes, those contributed, and
those that are pending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from perceptron_core.formats.packed import unpack
from perceptron_core.sharing.contribution import read
from perceptron_core.weights.buffers import from_bytes
from service.checkpoints.log import Progress
from service.partition.processor import Processor
from service.settings.load import Settings
from service.sharing.contribution import from_record
from service.sharing.lanes import Lanes
from service.sharing.replay import RoundsReplay
from service.sharing.rounds import Rounds
from service.stream import Transport


class QuietRounds:
    """Takes an untrained processor through the rounds of one partition, from the first on.

    No contribution may have been deleted, and no other partition's base taken over.
    """

    def __init__(
        self, transport: Transport, settings: Settings, partition: int, processor: Processor
    ) -> None:
        self._lanes = Lanes(transport, settings)
        self._lanes.read()
        self._lane = partition
        self._processor = processor

    def before(self, told: Mapping[str, int]) -> None:
        rounds = self._processor.rounds
        assert rounds is not None
        if told and not rounds.has_begun:
            opening = self._lanes.opening(told["start"])
            assert opening is not None
            if self._lane:
                rounds.begin(opening)
            else:
                rounds.open(opening.round)
        self._replay.before(told)

    def after(self, told: Mapping[str, int]) -> None:
        self._replay.after(told)

    @property
    def _replay(self) -> RoundsReplay:
        assert self._processor.rounds is not None
        return RoundsReplay(self._processor.rounds, self._lanes, self._lane)


class CountedLearner:
    """A learner that counts its updates, and those that it takes back."""

    def __init__(self, learner: Any) -> None:
        self._learner = learner
        self.made: Counter[str | None] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def learn(self, x: Mapping[str, float], *how: Any) -> float:
        step: float = self._learner.learn(x, *how)
        self._note(x, step)
        return step

    def predict_learn(self, x: Mapping[str, float], *how: Any) -> tuple[Any, float, float]:
        predicted, score, step = self._learner.predict_learn(x, *how)
        self._note(x, step)
        return predicted, score, step

    def undo(self, x: Mapping[str, float], step: float) -> bool:
        self._note(x, step)
        return bool(self._learner.undo(x, step))

    def _note(self, x: Mapping[str, float], step: float) -> None:
        if step:
            self.made.update([None, *(name for name, value in x.items() if value)])


def contributed(transport: Transport, settings: Settings, partition: int) -> Counter[str | None]:
    """Count the updates that a partition has contributed, to each round once."""
    found = [
        from_record(record, settings.group) for record in transport.read(settings.mixes_topic, partition)
    ]
    rounds = [each.round for each in found]
    assert rounds == list(range(rounds[0], rounds[0] + len(rounds)))
    total: Counter[str | None] = Counter()
    for each in found:
        if each.value:
            shifts = read(each.value)
            total += Counter(dict(zip(shifts.coordinates, shifts.counts, strict=True)))
            total[None] += shifts.n_updates
    return total


def pending(rounds: Rounds) -> Counter[str | None]:
    """Count the updates that a partition has yet to contribute."""
    state = rounds.shared.state()
    counts = zip(unpack(state["updated"]), from_bytes("d", state["counts"]), strict=True)
    return Counter({None: state["n_updates"], **dict(counts)})


def checksums_of(progress: Iterable[Progress]) -> dict[tuple[int, int], set[int]]:
    """Return the checksums that progress records of any partitions name for each base."""
    found: dict[tuple[int, int], set[int]] = {}
    for each in progress:
        if each.rounds:
            base = each.rounds["start"], each.rounds["round"]
            found.setdefault(base, set()).add(each.rounds["checksum"])
    return found
