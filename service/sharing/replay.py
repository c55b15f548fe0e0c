"""Apply the rounds again that progress records name, during recovery."""

from __future__ import annotations

from collections.abc import Mapping

from service.errors import CheckpointError
from service.sharing.lanes import Lanes
from service.sharing.rounds import Rounds


class RoundsReplay:
    """Takes one partition through the rounds that its progress records name.

    Parameters
    ----------
    rounds
        Its state, as of the snapshot.
    lanes
        The contributions.
    lane
        The partition.

    Attributes
    ----------
    has_diverged : bool
        Whether what was learned again is not what was contributed, as records are gone. Then the partition
        goes on with the base alone, which is the same for all.

    """

    def __init__(self, rounds: Rounds, lanes: Lanes, lane: int) -> None:
        self._rounds = rounds
        self._lanes = lanes
        self._lane = lane
        self.has_diverged = False

    def before(self, progress: Mapping[str, int]) -> None:
        """Apply the rounds that were applied before a batch.

        Raises
        ------
        CheckpointError
            The partition began to take part with this batch, or contributions are gone.
        TransportUnavailable
            Contributions cannot be read at present.

        """
        rounds = self._rounds
        if not progress:
            return
        if progress["start"] != rounds.start:
            raise CheckpointError(
                f"partition {self._lane}: it began to share its model in this batch, and the snapshot made "
                "then cannot be read",
                hint="`perceptron checkpoint reset` begins again",
            )
        while rounds.round < progress["round"]:
            found = self._lanes.committed_round(rounds.start, rounds.round + 1, rounds.n_lanes)
            rounds.apply(found, self._lanes.mix_of(found), self._lane)

    def after(self, progress: Mapping[str, int]) -> None:
        """Contribute what was contributed after a batch. Raises `CheckpointError` if the state is another."""
        rounds = self._rounds
        if not progress:
            return
        if rounds.sent < progress["sent"]:
            self._contribute()
        if rounds.progress() != progress:
            raise CheckpointError(
                f"partition {self._lane}: learning again gave {dict(rounds.progress())} for its rounds, but "
                f"{dict(progress)} was committed: the contributions in the mixes topic are others than then",
                hint="let nothing else write to the mixes topic; `perceptron checkpoint reset` begins again",
            )

    def _contribute(self) -> None:
        rounds = self._rounds
        value = rounds.contribute()
        committed = self._lanes.find(self._lane, rounds.start, rounds.sent)
        if committed is not None and committed.value != value:
            self.has_diverged = True
            rounds.adopt(rounds.state(), rounds.sent)
