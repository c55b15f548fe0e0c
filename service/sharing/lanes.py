"""The lanes of the mixes topic: contributions by round, and the mix of each complete round.

One reader a process serves all its partitions: a record is decoded once, and a mix is computed once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from perceptron_core import DamagedError
from perceptron_core.sharing.mix import AnyMix, mix
from service.clock import SYSTEM_CLOCK, Clock
from service.errors import CheckpointError, ConfigurationError, TransportError
from service.settings.load import Settings
from service.sharing.budget import Budget
from service.sharing.contribution import Contribution, from_record
from service.sharing.rounds import MOST_BYTES, Rounds
from service.stream import Follower, Record, RecordLimit, Transport

_MOST_RECORD_BYTES: Final = MOST_BYTES + 1024
"""Of a contribution with its key and headers."""

_BEGIN_AGAIN: Final = (
    "stop the group, set share_model off, start and stop it, and set it on again: a new share begins with "
    "what each partition has learned. Where that is refused, `perceptron checkpoint reset` begins again"
)

Name = tuple[int, int]
"""The start of a share and the number of a round."""


class Lanes:
    """The contributions of all partitions, as far as they are still needed.

    Parameters
    ----------
    transport, settings
        The stream, and the names of the topic and the group.
    clock
        Measures how long rounds take.

    Attributes
    ----------
    budget : Budget
        Of the time that the rounds take in this process.
    n_bytes_read, n_bytes_written : int
        Bytes of contributions that this process has read, and that its partitions have made, so far.

    """

    def __init__(self, transport: Transport, settings: Settings, clock: Clock = SYSTEM_CLOCK) -> None:
        self._transport = transport
        self._topic = settings.mixes_topic
        self._group = settings.group
        self._rounds: defaultdict[Name, dict[int, Contribution]] = defaultdict(dict)
        self._mixes: dict[Name, AnyMix] = {}
        self._latest: dict[int, Contribution] = {}
        self._positions: dict[int, int] = {}
        self._follower: Follower | None = None
        self.n_bytes_read = self.n_bytes_written = 0
        self.budget = Budget(clock)

    @property
    def newest_start(self) -> int:
        """The round that opened the newest share; −1 if there is none."""
        return max((each.start for each in self._latest.values()), default=-1)

    @property
    def last_round(self) -> int:
        """The highest number of a round so far; 0 before the first."""
        return max((each.round for each in self._latest.values()), default=0)

    def latest(self, lane: int) -> Contribution | None:
        """Return a lane's last contribution, None if it has given none."""
        return self._latest.get(lane)

    def opening(self, start: int) -> Contribution | None:
        """Return the contribution that opened a share, None where it is no longer there."""
        return self._rounds.get((start, start), {}).get(0)

    def find(self, lane: int, start: int, number: int) -> Contribution | None:
        """Return what a lane has contributed to a round, read to the end; None if it is not there."""
        if lane not in self._rounds.get((start, number), {}):
            self.read()
        return self._rounds.get((start, number), {}).get(lane)

    def has_opened(self, start: int, number: int) -> bool:
        """Return whether any lane has contributed to a round."""
        return (start, number) in self._rounds

    def waits_for(self, start: int, number: int, n_lanes: int) -> Sequence[int]:
        """List the lanes that have not contributed to a round yet."""
        found = self._rounds.get((start, number), {})
        return [lane for lane in range(n_lanes) if lane not in found]

    def complete(self, start: int, number: int, n_lanes: int) -> Sequence[Contribution] | None:
        """Return the contributions to a round by lane, None while one is missing."""
        found = self._rounds.get((start, number), {})
        if any(lane not in found for lane in range(n_lanes)):
            return None
        return [found[lane] for lane in range(n_lanes)]

    def reach(self, start: int, number: int, n_lanes: int) -> tuple[int, int]:
        """Return up to which round all after `number` are complete, and how many lanes the next one has."""
        while found := self.complete(start, number + 1, n_lanes):
            number += 1
            n_lanes = max(n_lanes, *(each.n_lanes for each in found))
        return number, n_lanes

    def mix_of(self, contributions: Sequence[Contribution]) -> AnyMix | None:
        """Return what the contributions to a round make together; None of the round that opens a share."""
        name = (contributions[0].start, contributions[0].round)
        if name[0] == name[1]:
            return None
        if name not in self._mixes:
            self._mixes[name] = self._mixed(contributions)
        return self._mixes[name]

    def _mixed(self, contributions: Sequence[Contribution]) -> AnyMix:
        try:
            return mix([each.value for each in contributions])
        except (DamagedError, ValueError) as error:
            number = contributions[0].round
            raise CheckpointError(
                f"{self._topic}: the contributions to round {number} cannot be mixed: {error}",
                hint="let nothing else write to the mixes topic, and give all members of the group the same "
                "settings",
            ) from error

    def check_limit(self, limit: RecordLimit) -> None:
        """Raise `ConfigurationError` unless the topic, which has this limit, takes every contribution."""
        if limit.n_bytes < _MOST_RECORD_BYTES:
            raise ConfigurationError(
                f"topic {self._topic!r} takes records of {limit.n_bytes} bytes, and a contribution may have "
                f"{_MOST_RECORD_BYTES}",
                hint=f"raise `max.message.bytes` of {self._topic!r} to 1048588, Kafka's default",
            )

    def poll(self) -> None:
        """Read records appended since the last call. Raises as `Follower.poll`, or `CheckpointError`."""
        if self._follower is None:
            self.read()
            self._follower = self._transport.follow(self._topic, self._positions)
        try:
            records = self._follower.poll()
        except TransportError:
            self.close()
            raise
        self._take(records)

    def grow(self, n_lanes: int) -> None:
        """Follow further lanes, which were added to the topic."""
        if self._positions and n_lanes > len(self._positions):
            self.close()

    def committed_round(self, start: int, number: int, n_lanes: int) -> Sequence[Contribution]:
        """Return the contributions to a round that is known to have been complete.

        Raises `CheckpointError` if they are no longer there, and as `read`.
        """
        found = self.complete(start, number, n_lanes)
        if found is None:
            self.read()
            found = self.complete(start, number, n_lanes)
        if found is None:
            raise self.gone(self.waits_for(start, number, n_lanes)[0], number)
        return found

    def check(self, lane: int, rounds: Rounds, latest: Contribution | None) -> None:
        """Make sure that the lanes and the checkpoints of a partition are of the same time and topic.

        Lane 0 has contributed to every round, and a partition commits its contributions with its checkpoints.
        `latest` is what its lane ended with before the checkpoints were read. Raises `CheckpointError`.
        """
        if latest is not None and latest.start == rounds.start and latest.round > rounds.sent:
            raise CheckpointError(
                f"{self._topic}[{lane}]: the lane goes on to round {latest.round}, the checkpoints of the "
                f"partition to {rounds.sent}: they are older than the lane",
                hint="bring back the mixes topic and the checkpoints topic as of one moment. "
                f"Or {_BEGIN_AGAIN}",
            )
        needed = {0: rounds.round} if rounds.has_begun else {}
        if rounds.has_contributed:
            needed[lane] = rounds.sent
        if self._lacks(needed, rounds.start):
            self.read()
        for each in self._lacks(needed, rounds.start):
            raise self.gone(each, needed[each])

    def _lacks(self, rounds: Mapping[int, int], start: int) -> Sequence[int]:
        """List the lanes that do not go on to these rounds of a share."""
        latest = {lane: self._latest.get(lane) for lane in rounds}
        return [
            lane
            for lane, each in latest.items()
            if each is None or (each.start, each.round) < (start, rounds[lane])
        ]

    def lost(self, start: int, number: int, n_lanes: int) -> Sequence[int]:
        """List the lanes that have contributed to a later round, and no longer to this one."""
        latest = map(self._latest.get, self.waits_for(start, number, n_lanes))
        return [each.lane for each in latest if each and (each.start, each.round) > (start, number)]

    def gone(self, lane: int, number: int) -> CheckpointError:
        """Make the error of a contribution that was deleted although it is needed."""
        return CheckpointError(
            f"{self._topic}[{lane}]: the contribution to round {number} is gone, and needed to go on",
            hint="if the group has used another mixes topic until now, name that: --mixes-topic. "
            f"Otherwise {_BEGIN_AGAIN}",
        )

    def forget(self, n_lanes: int) -> int:
        """Forget the rounds that no partition needs; return the last of these rounds, −1 if there is none."""
        latest = [self._latest.get(lane) for lane in range(n_lanes)]
        start = self.newest_start
        if any(each is None or each.start != start for each in latest):
            return -1
        last = min(each.kept for each in latest if each is not None)
        for name in [name for name in self._rounds if name <= (start, last)]:
            del self._rounds[name]
            self._mixes.pop(name, None)
        return last

    def end_of(self, lane: int, number: int) -> int:
        """Return the offset before which a lane has only rounds up to `number`, without its last one."""
        kept = [each[lane] for each in self._rounds.values() if lane in each]
        later = [each.offset for each in (*kept, self._latest[lane]) if each.round > number]
        return min(later, default=self._latest[lane].offset)

    def close(self) -> None:
        """Stop following the lanes; `poll` begins again. Idempotent."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None

    def read(self) -> None:
        """Read the lanes to the ends that the stream has now. Raises as `poll`."""
        self.close()
        for lane in range(self._transport.partition_count(self._topic)):
            position = self._positions.get(lane, 0)
            self._positions[lane] = position
            self._take(self._transport.read(self._topic, lane, position))

    def _take(self, records: Iterable[Record]) -> None:
        for record in records:
            found = from_record(record, self._group)
            self._positions[found.lane] = record.offset + 1
            self.n_bytes_read += len(found.value)
            self._rounds[found.start, found.round].setdefault(found.lane, found)
            latest = self._latest.get(found.lane)
            if latest is None or (found.start, found.round) >= (latest.start, latest.round):
                self._latest[found.lane] = found
