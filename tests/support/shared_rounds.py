"""The rounds of a shared model, lived again. In: a stream's lanes. Out: rounds applied as progress tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from service.checkpoints.log import Progress
from service.partition.processor import Processor
from service.settings.load import Settings
from service.sharing.lanes import Lanes
from service.sharing.replay import RoundsReplay
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


def checksums_of(progress: Iterable[Progress]) -> dict[tuple[int, int], set[int]]:
    """Return the checksums that progress records of any partitions name for each base."""
    found: dict[tuple[int, int], set[int]] = {}
    for each in progress:
        if each.rounds:
            base = each.rounds["start"], each.rounds["round"]
            found.setdefault(base, set()).add(each.rounds["checksum"])
    return found
