"""One partition's part in the rounds: the mixes that its task applies and the contributions that it writes.

    not begun ── an opening, or another partition's base ─→ waits for updates, or for another lane to open
                                                              │ contributes                       ↑
                                                              └─→ waits for the other lanes ─ applies

The model changes only between two batches, and each change is in the progress record of the next.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from service.clock import Clock
from service.errors import OwnershipLost, TransportError
from service.settings.load import Settings
from service.sharing.contribution import Contribution, as_output
from service.sharing.lanes import Lanes
from service.sharing.rounds import Rounds
from service.stream import Output, Transport

_log = logging.getLogger(__name__)

OPENING_UPDATES: Final = 16
"""Updates of one partition that open a round."""
_CHECK_SECONDS: Final = 1.0
"""Seconds between two searches of a partition that cannot begin for another one's base."""

_SHARE_FOR_DISTANCE: Final = 0.02
"""Of the time, for finding how far the models of all lanes are from the base: that takes long where much was
learned alone."""

FindBase = Callable[[], Mapping[str, Any] | None]
"""Returns the state of the rounds in the newest snapshot of any other partition."""


class _Waiting(NamedTuple):
    """What a partition waits for; replaced as a whole, as other threads read it."""

    since: float
    """Monotonic seconds."""
    start: int
    round: int
    n_lanes: int


class Participant:
    """Takes part for one partition.

    Parameters
    ----------
    lane
        The partition.
    rounds
        Its state.
    lanes
        The contributions of all partitions.
    find_base
        Finds another partition's base.
    count_lanes
        Returns how many partitions the events have.
    transport, settings, clock
        The stream, its topics, and the time.

    """

    def __init__(
        self,
        lane: int,
        rounds: Rounds,
        lanes: Lanes,
        *,
        find_base: FindBase,
        count_lanes: Callable[[], int],
        transport: Transport,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._lane = lane
        self._rounds = rounds
        self._lanes = lanes
        self._find_base = find_base
        self._count_lanes = count_lanes
        self._transport = transport
        self._settings = settings
        self._clock = clock
        self._next_check_at = clock.monotonic()
        self._checked_start: int | None = None
        self._snapshot_rounds: deque[int] = deque(maxlen=settings.snapshots_kept)
        latest = lanes.latest(lane)
        self._kept = latest.kept if latest is not None and latest.start == rounds.start else 0
        self._has_opened = False
        self._is_confirmed = False
        """Whether what a former owner has contributed to the open round was found in the lane."""
        self.has_just_begun = False
        """Whether it has begun since the last commit: that is to have a snapshot."""
        self._snapshot_round: int | None = None
        """The last round in the snapshot that was begun last; None if it takes no part there."""
        self._waiting: _Waiting | None = None
        self.distance = 0.0
        """Norm of what its model had learned and not contributed yet, when it was last measured."""
        self._distance_at = clock.monotonic()

    @property
    def rounds(self) -> Rounds:
        """The state of the partition."""
        return self._rounds

    @property
    def waits_for(self) -> Sequence[int]:
        """The other lanes that have yet to contribute to the round to which this partition has.

        Any thread may ask, here and below.
        """
        if (waiting := self._waiting) is None:
            return ()
        found = self._lanes.waits_for(waiting.start, waiting.round, waiting.n_lanes)
        return [lane for lane in found if lane != self._lane]

    def waited_seconds(self) -> float:
        """Return for how long it has waited for other lanes; 0 if it waits for none."""
        waiting = self._waiting
        return self._clock.monotonic() - waiting.since if waiting is not None and self.waits_for else 0.0

    def measure_distance(self) -> None:
        """Measure the distance of the model from the base, unless it was measured a moment ago."""
        if (began := self._clock.monotonic()) < self._distance_at:
            return
        self.distance = self._rounds.shared.distance()
        took_seconds = self._clock.monotonic() - began
        self._distance_at = began + took_seconds * max(1, self._rounds.n_lanes) / _SHARE_FOR_DISTANCE

    @property
    def wants_commit(self) -> bool:
        """Whether there is something to be committed, records or not."""
        return self.has_just_begun or self.is_due()

    def prepare(self) -> None:
        """Begin, if that is possible now, and apply the rounds that are complete.

        Raises
        ------
        OwnershipLost
            Another process has contributed for this partition.
        CheckpointError
            Contributions that are needed are gone, or cannot be mixed.
        TransportError
            As `Transport.read`.

        """
        if self._begins():
            self.has_just_begun = self._is_confirmed = True
            self._waiting = None
            self._kept = self._rounds.round
            _log.info("partition %d: takes part from round %d on", self._lane, self._rounds.round + 1)
        rounds = self._rounds
        while rounds.has_begun and (found := self._lanes.complete(*self._next(), rounds.n_lanes)):
            if rounds.sent < found[0].round and rounds.is_member(self._lane):
                raise OwnershipLost(
                    f"partition {self._lane}: another process has contributed to round "
                    f"{found[0].round} for it"
                )
            with self._lanes.budget.spending():
                rounds.apply(found, self._lanes.mix_of(found), self._lane)
            self._waiting = None
        if rounds.has_begun:
            self._refuse_lost()
        self._note_waiting()

    def _refuse_lost(self) -> None:
        """Refuse to wait for contributions that were there and are gone: the round could never be closed."""
        if self._lost():
            self._lanes.read()
            latest, rounds = self._lanes.latest(self._lane), self._rounds
            if latest is not None and (latest.start, latest.round) > (rounds.start, rounds.sent):
                raise OwnershipLost(f"partition {self._lane}: another process has contributed for it")
            for lane in self._lost():
                raise self._lanes.gone(lane, rounds.round + 1)
        self._is_confirmed = True

    def _lost(self) -> Sequence[int]:
        """List the lanes whose contributions to the next round are gone."""
        (start, number), n_lanes = self._next(), self._rounds.n_lanes
        lost = self._lanes.lost(start, number, n_lanes)
        if self._is_confirmed or self._rounds.sent < number:
            return lost
        own = [each for each in self._lanes.waits_for(start, number, n_lanes) if each == self._lane]
        return [*lost, *own]

    def _begins(self) -> bool:
        newest = self._lanes.newest_start
        if self._rounds.has_begun and self._rounds.start >= newest:
            return False
        now = self._clock.monotonic()
        if newest == self._checked_start and now < self._next_check_at:
            return False
        self._lanes.read()  # to the end: what a former state of this partition has contributed, above all
        newest = self._lanes.newest_start
        self._checked_start, self._next_check_at = newest, now + _CHECK_SECONDS
        latest = self._lanes.latest(self._lane)
        if latest is not None and latest.start != newest:
            latest = None
        opening = self._lanes.opening(newest)
        if opening is not None and latest is None and self._lane < opening.n_lanes:
            self._rounds.begin(opening)
        elif (base := self._find_base()) is not None:
            return base["start"] == newest and self._adopts(base, latest)
        elif self._lane == 0:
            self._rounds.open(self._lanes.last_round + 1)
            self._has_opened = True
        else:
            return False
        return True

    def _adopts(self, base: Mapping[str, Any], latest: Contribution | None) -> bool:
        """Adopt another partition's base, if all rounds after it are there until this one contributes.

        From then on none of them is deleted: the others wait for this partition, or have its contribution,
        which says what it needs.
        """
        number, n_lanes = self._lanes.reach(base["start"], base["round"], base["n_lanes"])
        if self._lane >= n_lanes or (latest is not None and number < latest.round - 1):
            return False
        n_updates = self._rounds.adopt(base, -1 if latest is None else latest.round)
        if n_updates:
            _log.warning(
                "partition %d: it goes on with what others have learned; %d updates are dropped, of a time "
                "in which they shared their model and it did not",
                *(self._lane, n_updates),
            )
        return True

    def is_due(self) -> bool:
        """Return whether this partition is to contribute with its next commit."""
        if not self._rounds.has_begun:
            return False
        return self._has_opened or (self._may_contribute() and self._is_wanted())

    def _may_contribute(self) -> bool:
        rounds = self._rounds
        return rounds.sent <= rounds.round and self._lane < rounds.n_lanes

    def _is_wanted(self) -> bool:
        rounds, n_lanes = self._rounds, self._count_lanes()
        if self._lanes.has_opened(*self._next()):
            return True
        if n_lanes == 1 or not self._lanes.budget.is_left():
            return False
        return rounds.shared.n_updates >= OPENING_UPDATES or n_lanes > rounds.n_lanes

    def contribution(self) -> list[Output]:
        """Return this partition's contribution, to be committed with what the model has learned by now."""
        if not self.is_due():
            return []
        rounds, number = self._rounds, self._rounds.round + 1
        with self._lanes.budget.spending():
            value = b"" if self._has_opened else rounds.contribute()
        self._has_opened = False
        self._note_waiting()
        self._lanes.n_bytes_written += len(value)
        n_lanes = max(rounds.n_lanes, self._count_lanes())
        found = Contribution(self._lane, rounds.start, number, n_lanes, self._kept, value)
        return [as_output(found, self._settings.mixes_topic, self._settings.group)]

    def snapshot_begun(self) -> None:
        """Note that a snapshot of the present state is made."""
        self._snapshot_round = self._rounds.round if self._rounds.has_begun else None

    def snapshot_committed(self) -> None:
        """Note that the snapshot last begun is kept; delete what no partition needs of this lane."""
        if self._snapshot_round is None:
            return
        self.has_just_begun = False
        self._snapshot_rounds.append(self._snapshot_round)
        if len(self._snapshot_rounds) == self._snapshot_rounds.maxlen:
            self._kept = self._snapshot_rounds[0]
        last = self._lanes.forget(self._rounds.n_lanes)
        if last < 0 or self._lanes.latest(self._lane) is None:
            return
        topic = self._settings.mixes_topic
        try:
            self._transport.delete_before(topic, self._lane, self._lanes.end_of(self._lane, last))
        except TransportError as error:  # tidying up must not stop the stream; the next snapshot tries again
            _log.warning("%s[%d]: old contributions stay: %s", topic, self._lane, error)

    def _note_waiting(self) -> None:
        """Record the time from which it waits for other lanes, also if a former owner contributed."""
        rounds = self._rounds
        if rounds.sent > rounds.round and self._waiting is None:
            self._waiting = _Waiting(self._clock.monotonic(), *self._next(), rounds.n_lanes)

    def _next(self) -> tuple[int, int]:
        """Return what names the next round."""
        return self._rounds.start, self._rounds.round + 1
