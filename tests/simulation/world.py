"""One simulated run: the processes, the clock and the faults of a seed.

Several processes, each a real `Runner`, share a stream in memory and a clock on which time passes only
where somebody waits. All of it happens in one thread, in an order that chance decides; so the same seed
repeats to the byte.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from math import inf
from random import Random

from prometheus_client import CollectorRegistry

from perceptron_core.formats import model_changes
from service.checkpoints import config_fingerprint, snapshot
from service.checkpoints.log import read_log
from service.errors import (
    CheckpointError,
    OwnershipLost,
    ServiceError,
    StorageFull,
    TransactionFailed,
    TransportUnavailable,
)
from service.loop import restorer, snapshots, standby, task
from service.loop.context import Context
from service.loop.runner import Runner
from service.loop.snapshots import Packing
from service.monitoring.metrics import Metrics
from service.partition import processor
from service.partition.processor import fast_path
from service.settings.fields import fingerprint
from service.settings.load import Settings
from service.settings.mapping import EventSettings
from service.settings.parts import DecisionSettings
from tests.simulation.broker import Broker
from tests.simulation.transport import SimulatedTransport
from tests.simulation.workload import NAMES, Workload, place

EPOCH_SECONDS = 1_700_000_000
MAX_TURNS = 3000
MAX_FAULTS = 40
MAX_PARTITIONS = 8
MAX_CALM_TURNS = 1500
SHARED_EVERY = 5
"""Of so many seeds one has one model over all partitions."""
WINDOWS_EVERY = 4
"""Of so many seeds with two classes one has windows by key."""
DECISIONS_EVERY = 6
"""Of so many seeds with two classes one decides."""
HOLES_EVERY = 7
"""Of so many seeds one has long chains of increments, some of them damaged."""
STANDBY_EVERY = 3
"""Of so many others one has processes that keep the states of partitions of others."""
JUMPS_EVERY = 11
"""Of so many seeds one has clocks that jump."""
CALL_SECONDS = 0.001


class SimulatedCrash(BaseException):
    """The process is dead: as `kill -9` leaves it, nothing more of it is done."""


class SimulationFailure(AssertionError):
    """What must hold did not."""


class SimulatedClock:
    """The clock that all share."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds

    def time(self):
        return EPOCH_SECONDS + self.seconds

    def process_time(self):
        return 0.0  # what processes compute takes no time here

    def wait(self, event, seconds):
        if not event.is_set():
            self.seconds += seconds


class SkewedClock:
    """The clock of one machine: its seconds are everybody's, what day it is not quite."""

    def __init__(self, clock, ahead_seconds, jump):
        self.monotonic = clock.monotonic
        self.process_time = clock.process_time
        self.wait = clock.wait
        self._clock = clock
        self._ahead_seconds = ahead_seconds
        self._jumps_at, self._jump_seconds = jump

    def time(self):
        has_jumped = self._clock.seconds >= self._jumps_at
        return self._clock.time() + self._ahead_seconds + self._jump_seconds * has_jumped


class Life:
    """A process from its start to its end: what it calls goes through here."""

    def __init__(self, world, name, number):
        self.world = world
        self.name = name
        self.is_dead = False
        self.member_id = None
        self.is_idle = False
        self.is_told_to_stop = False
        self.runner = None
        self._sibling = []
        self._is_beside = False
        """Whether one of these runs: they wait for each other."""
        self.metrics = metrics_of(number)
        self.metrics.life = self
        clock = SkewedClock(world.clock, world.random.choice((0.0, 0.0, -1.5, 1.5)), world.jump)
        self._context = Context(
            SimulatedTransport(self, world.broker),
            world.settings,
            self.metrics,
            clock=clock,
            random=world.random,
        )

    def start(self):
        self.runner = Runner(self._context)
        if self.is_told_to_stop:
            self.runner.stop()

    def run_beside(self, run):
        """Let partitions be restored between two calls of the loop, whichever chance says."""
        self._sibling.append(run)

    def _go_on_beside(self):
        waiting, self._sibling, self._is_beside = self._sibling, [], True
        try:
            for run in waiting:
                if self.world.is_calm or self.chance(0.3):
                    run()
                else:
                    self._sibling.append(run)
        finally:
            self._is_beside = False
        if self.is_dead:  # whoever restores is notified of it later, as of any error
            raise SimulatedCrash

    # What the transport asks

    def before(self, call):
        """Let time pass, and what chance will, before a call has its effect."""
        if self.is_dead:
            raise SimulatedCrash
        world = self.world
        clock = world.clock
        clock.seconds += CALL_SECONDS
        if clock.seconds >= world.next_sent_at:
            world.feed()
        if self._sibling and not self._is_beside:
            self._go_on_beside()
        if world.is_calm:
            return
        if world.away_until > clock.seconds:
            raise TransportUnavailable("away")
        if world.random.random() < world.p_fault:
            world.faults.before(self, call)

    def after(self, call):
        """Let happen what chance will once a call has had its effect."""
        world = self.world
        if not world.is_calm and world.random.random() < world.p_fault:
            world.faults.after(self, call)

    def commit(self, parts):
        """Let chance decide what becomes of a transaction whose offsets were handed over."""
        world, broker = self.world, self.world.broker
        if not world.is_calm and world.random.random() < world.p_commit_fault:
            world.faults.commit(self, parts)
            return
        self.before("end of commit")
        if broker.group.undecided.get(self.name) is not parts:
            self.note("its transaction was ended by others")
            raise (TransactionFailed if self.chance(0.5) else OwnershipLost)("fenced")
        broker.commit(self.name, parts)
        if world.trace is not None:
            for part in parts:
                self.note(
                    f"commits partition {part.partition}: {len(part.outputs)} records, next {part.offsets}"
                )

    def may_give_up(self):
        """Return whether a process waits no longer for a transaction that is undecided."""
        return not self.world.is_calm and self.chance(0.5)

    def breaks_off(self, n_records):
        """Return after how many records reading breaks off; None if it does not."""
        world = self.world
        if world.is_calm or not n_records or world.random.random() >= world.p_fault:
            return None
        return world.random.randrange(n_records)

    def broken(self):
        """Raise what breaks off reading."""
        self.note("read broken off")
        raise TransportUnavailable("the connection broke")

    def order_of_sources(self, sources):
        """Return the sources that answer now, in the order in which they do."""
        world, sources = self.world, [*sources]
        if world.is_calm:
            return sources
        random = world.random
        if random.random() < world.p_silent:
            return []
        random.shuffle(sources)
        return [s for s in sources if s not in world.slow or random.random() < 0.1]

    def share(self, left):
        """Return how many records of a source come at most."""
        world = self.world
        return left if world.is_calm or world.random.random() < 0.5 else world.random.randint(1, left)

    def idle(self, seconds):
        """Wait for records that do not come."""
        self.world.clock.seconds += seconds * (
            20 if self.world.is_calm else self.world.random.choice((1, 1, 10))
        )

    def chance(self, p):
        return self.world.random.random() < p

    def publishes(self, partition, state):
        """Reject counts that no transaction has committed."""
        world = self.world
        if not world.losses.are_felt:
            n_consumed = state.counters.consumed.total()
            if n_consumed not in world.committed_counts(partition):
                raise SimulationFailure(
                    f"{self.name} publishes {n_consumed} records of partition {partition}"
                )

    # What happens to it

    def die(self, where):
        """End at once; raises what takes the process off the stack."""
        self.note(f"crash {where}")
        self.world.counts["crashes"] += 1
        self.is_dead = True
        self.fall_silent()
        raise SimulatedCrash

    def fall_silent(self):
        member = self.world.broker.group.members.get(self.member_id)
        if member is not None:
            member.silent_since = self.world.clock.seconds

    def speak_again(self):
        self.world.broker.let_silent_go()
        member = self.world.broker.group.members.get(self.member_id)
        if member is not None:
            member.silent_since = None

    def note(self, text):
        """Note something that happens to it."""
        self.world.note(self.name, text)

    def fenced(self, partitions):
        """Note that it was kept from writing for partitions that are no longer its own."""
        self.world.counts["fences"] += 1
        self.note(f"fenced off partitions {partitions}")


class SimulatedBackground:
    """What runs next to the loop of a process, between two of its calls."""

    def __init__(self, life):
        self.run = life.run_beside
        self._is_over = False

    def is_over(self):
        return self._is_over

    def close(self):
        self._is_over = True


class Slot:
    """A place for a process: one life follows another."""

    def __init__(self, world, number):
        self.world = world
        self.number = number
        self.life = None
        self.start_at = 0.0
        self.n_lives = 0

    def turn(self):
        """Let the process do one step, or start it if it is time."""
        world = self.world
        if self.life is None and world.clock.seconds < self.start_at and not world.is_calm:
            world.clock.seconds += 0.1
            return
        world.stack.append(self)
        try:
            self._turn()
        except SimulatedCrash:
            self._end()
        except ServiceError as error:
            self._rejected(error)
        finally:
            world.stack.pop()

    def _turn(self):
        if self.life is None:
            self._start()
            return
        life, world = self.life, self.world
        life.is_idle = life.runner.step()
        if life.is_told_to_stop or (not world.is_calm and world.random.random() < world.p_restart):
            self.leave()

    def _start(self):
        self.n_lives += 1
        life = Life(self.world, f"{'ABCDEFGH'[self.number]}{self.n_lives}", self.number)
        self.life = life
        life.note("start")
        try:
            life.start()
        except TransportUnavailable:
            life.note("not started: the stream is away")
            life.fall_silent()
            self._end()

    def leave(self):
        """Stop in order."""
        self.life.note("stop")
        self.world.counts["stops"] += 1
        self.life.runner.stop()
        self.life.runner.close()
        self._end()

    def _end(self):
        world = self.world
        self.life = None
        pause = world.random.choice((0.0, 0.5, 2.0, 20.0))
        self.start_at = world.clock.seconds + pause

    def _rejected(self, error):
        world = self.world
        self.life.note(f"rejects: {type(error).__name__}: {error}")
        if not world.may_reject(error):
            raise SimulationFailure(
                f"{self.life.name} did not continue: {type(error).__name__}: {error}"
            ) from error
        world.has_rejected = True


class Faults:
    """What may go wrong, and how it is done."""

    def __init__(self, world):
        self.world = world
        kinds = ("crash", "unavailable", "outage", "freeze", "switch", "kick", "shuffle", "stop")
        random = world.random
        self._before = [kind for kind in kinds if random.random() < 0.6] or ["crash"]
        self._after = [kind for kind in self._before if kind in {"crash", "freeze", "switch", "shuffle"}] or [
            "switch"
        ]
        self._left = MAX_FAULTS
        endings = ("full", "failed", "lost", "away", "undecided", "crash")
        self._commit = [kind for kind in endings if random.random() < 0.6] or ["lost"]

    def before(self, life, call):
        self._do(self.world.random.choice(self._before), life, f"before {call}")

    def after(self, life, call):
        self._do(self.world.random.choice(self._after), life, f"after {call}")

    def _do(self, kind, life, where):
        self._left -= 1
        if self._left < 0:
            self.world.p_fault = 0.0
        getattr(self, kind)(life, where)

    def crash(self, life, where):
        life.die(where)

    def unavailable(self, life, where):
        self._count(life, "unavailable", where)
        raise TransportUnavailable("no answer")

    def outage(self, life, where):
        self._count(life, "outages", where)
        self.world.away_until = self.world.clock.seconds + self.world.random.random() * 5
        raise TransportUnavailable("away")

    def freeze(self, life, where, max_turns=30):
        """Stop a process for longer than a session, or nearly, while the others continue."""
        world = self.world
        self._count(life, "freezes", where)
        until = world.clock.seconds + world.settings.session_timeout_seconds * world.random.choice(
            (0.5, 1.5, 3.0)
        )
        life.fall_silent()
        for _ in range(max_turns):
            if world.clock.seconds >= until or not world.turn_of_another():
                break
        world.clock.seconds = max(world.clock.seconds, until)
        life.speak_again()
        life.note("thaws")

    def switch(self, life, where):
        """Let others do something in the middle of a call."""
        self.world.counts["switches"] += 1
        for _ in range(self.world.random.randint(1, 4)):
            self.world.turn_of_another()

    def kick(self, life, where):
        self._count(life, "kicks", where)
        self.world.broker.leave(life.member_id)

    def shuffle(self, life, where):
        self._count(life, "shuffles", where)
        self.world.broker.rebalance(shuffled=True)

    def stop(self, life, where):
        life.note(f"told to stop {where}")
        life.is_told_to_stop = True
        if life.runner is not None:
            life.runner.stop()

    def commit(self, life, parts):
        """End a transaction otherwise than well."""
        world, broker = self.world, self.world.broker
        kind = world.random.choice(self._commit)
        self._count(life, f"commit {kind}", f"of partitions {[part.partition for part in parts]}")
        if kind == "full":
            broker.abort(life.name, parts)
            raise StorageFull("no room")
        if kind == "failed":
            broker.abort(life.name, parts)
            raise TransactionFailed("rolled back")
        if kind in {"lost", "away"}:
            broker.commit(life.name, parts)
        elif kind == "crash":
            life.die("in commit")
        raise (TransportUnavailable if kind == "away" else TransactionFailed)("no answer")

    def _count(self, life, what, where):
        self.world.counts[what] += 1
        life.note(f"{what} {where}")


class Losses:
    """What others may delete, which the service must notice."""

    def __init__(self, world):
        self.world = world
        self.are_felt = False
        what = world.random.choice(("nothing",) * 7 + ("checkpoints", "input", "input"))
        self._p_checkpoints = 0.02 * (what == "checkpoints")
        self._p_input = 0.02 * (what == "input")
        self._max_input = world.random.choice(("read", "any"))
        self._chance = Random(f"damage of {world.seed}")
        self._has_holes = world.has_holes and what == "nothing"

    def perhaps(self):
        """Let something be deleted, if chance has it so."""
        random = self.world.random
        if self._p_checkpoints and random.random() < self._p_checkpoints:
            self._p_checkpoints = 0.0
            self._empty("checkpoints")
        if self._p_input and random.random() < self._p_input:
            self._delete_input(*random.choice(self.world.sources))
        if self._has_holes and self._chance.random() < 0.01:
            self.damage_increments()

    def damage_increments(self):
        """Change a byte of increments from which others continue, one of each partition's."""
        for source, log in self.world.broker.logs.items() if self._has_holes else ():
            headers = [dict(record.headers) for record in log.records] if source[0] == "checkpoints" else []
            increments = [each for each in headers if each["kind"] == b"increment"]
            needed = {each["before"] for each in increments}
            if found := [
                at for at, each in enumerate(headers) if each in increments and each["sequence"] in needed
            ]:
                at = self._chance.choice(found[-3:])
                record = log.records[at]
                log.records[at] = record._replace(value=b"damaged")
                self.world.counts["increments damaged"] += 1
                self.world.note(
                    "--", f"an increment is damaged: checkpoints[{record.partition}]@{record.offset}"
                )

    def _delete_input(self, topic, partition):
        """Delete the oldest records of a topic, as its retention does."""
        log = self.world.broker.logs[topic, partition]
        safe = self._safe_offset(topic, partition)
        end = safe if self._max_input == "read" else log.end
        if log.start < end:
            log.delete_before(self.world.random.randint(log.start + 1, end))
            self.world.counts["input deleted"] += 1
            self.world.note(
                "--", f"{topic}[{partition}] is deleted before {log.start}, of which {safe} is safe"
            )
            # No one can know whether what is gone was a record or the marker of a transaction.
            self.are_felt = self.are_felt or log.start > safe

    def _safe_offset(self, topic, partition):
        """Return the offset before which no one needs anything: the newest snapshot is of later records."""
        task = 0 if self.world.is_shared else partition
        transactions = [each for each in self.world.broker.transactions if each.partition == task]
        outputs = [output for each in transactions for output in each.outputs]
        log = read_log((each for each in outputs if each.topic == "checkpoints"), self.world.settings.group)
        return log.snapshots[-1].read().offsets.get((topic, partition), 0) if log.snapshots else 0

    def _empty(self, topic):
        broker = self.world.broker
        if topic in broker.topics:
            self.world.counts[f"{topic} emptied"] += 1
            self.world.note("--", f"the {topic} topic is emptied")
            self.are_felt = True
            for partition in range(broker.topics[topic]):
                broker.logs[topic, partition].delete_before(broker.logs[topic, partition].end)


class World:
    """Everything of one run.

    Parameters
    ----------
    seed
        Decides all of it.
    trace
        Where to note what happens; None: nowhere.

    """

    def __init__(self, seed, trace=None):
        self.seed, self.trace = seed, trace
        self.random = random = Random(seed)
        self.counts = Counter()
        self.clock = SimulatedClock()
        self.settings = draw_settings(random)
        if seed % WINDOWS_EVERY == WINDOWS_EVERY - 1 and len(self.settings.classes) <= 2:
            self._count_by_key(Random(f"windows of {seed}"))
        if seed % DECISIONS_EVERY == 0 and len(self.settings.classes) <= 2:
            rules = [{"name": "sure", "threshold": 1.5}, {"name": "look", "max_rate": "3/second"}]
            self.settings = self.settings.model_copy(
                update={"decisions": tuple(DecisionSettings(**each) for each in rules)}
            )
        self._forms = Random(seed)
        self.is_shared = seed % SHARED_EVERY == SHARED_EVERY - 1
        self._spread = Random(f"partitions of {seed}")
        if self.is_shared:
            self.settings = self.settings.model_copy(update={"share_model": True})
        self.patches = {
            processor: {"fast_path": self._fast_path_or_none},
            restorer: {"Background": lambda: SimulatedBackground(self.stack[-1].life)},
        }
        """What is changed, by module: processors are of either form."""
        self.has_holes = seed % HOLES_EVERY == HOLES_EVERY - 1
        self._spread_snapshots(Random(f"snapshots of {seed}"))
        if seed % STANDBY_EVERY == 1:
            self.settings = self.settings.model_copy(update={"standby": True})
            self.patches[standby] = {"INTERVAL_SECONDS": 0.0, "RETRY_SECONDS": 0.0}
        jumps = Random(f"jumps of {seed}")
        jump_seconds = jumps.choice((-86_400, 31_536_000, 5e9)) if seed % JUMPS_EVERY == 7 else 0
        self.jump = jumps.random() * 5, jump_seconds
        """When the clocks of all machines jump, and how far: back by a day, or forward."""
        made_with = fingerprint(self.settings)  # once, as it takes a tenth of the time of a run
        for module in (config_fingerprint, snapshots):
            self.patches.setdefault(module, {})["fingerprint"] = lambda settings: (
                made_with if settings is self.settings else fingerprint(settings)
            )
        self.has_rejected = False
        self.is_calm = False
        self.away_until = 0.0
        partitions = random.choice((1, 1, 2, 3, 6))
        self.partitions = max(2 * self.is_shared, 1 if self.has_holes else partitions)
        self.broker = Broker(
            self.clock,
            random,
            session_seconds=self.settings.session_timeout_seconds,
            leaves_gaps=random.random() < 0.5,
        )
        self.broker.leading = "events"
        self.broker.is_alone = self.is_shared
        self.p_fault = random.choice((0.0, 0.01, 0.03, 0.1))
        self.p_commit_fault = random.choice((0.0, 0.03, 0.2))
        self.p_restart = random.choice((0.0, 0.005, 0.03))
        self.p_silent = random.choice((0.0, 0.3))
        self.p_growth = random.choice((0.0, 0.0, 0.0, 0.01))
        if self.is_shared and seed % 2:
            self.p_growth = 0.01
        self.faults = Faults(self)
        self._prepare_input(random)
        self.slots = [Slot(self, number) for number in range(random.choice((1, 1, 2, 3, 4)))]
        self.stack = []
        self.losses = Losses(self)
        self._committed_counts: dict[int, set[int]] = {}
        self._n_counted = 0

    def _count_by_key(self, random):
        """Let there be windows by key, of labels too, or with room for one key alone."""
        of = {"@event": "count,seconds_since_last", f"features.{NAMES[0]}": "count,min,max"}
        max_keys = random.choice((1, 100))
        if max_keys > 1:  # a label may count for a key that left and came back, in the cell of its event
            of["@label"] = "rate"
        over = random.choice((["1s"], ["2s", "16s"], ["1s", "5s", "60s"]))
        window = {"by": "features.colour", "over": over, "of": of, "max_keys": max_keys}
        events = EventSettings(label_on_timeout=self.settings.events.label_on_timeout, windows=[window])
        self.settings = self.settings.model_copy(update={"events": events, "labels_topic": "labels"})

    def committed_counts(self, partition):
        """Return how many records a partition had consumed after each of its transactions."""
        new = self.broker.transactions[self._n_counted :]
        self._n_counted += len(new)
        for transaction in new:
            for record in transaction.outputs:
                if ("kind", b"progress") in record.headers:
                    consumed = sum(json.loads(record.value).get("consumed", {}).values())
                    self._committed_counts.setdefault(transaction.partition, {0}).add(consumed)
        return self._committed_counts.get(partition, {0})

    def _fast_path_or_none(self, *made_of):
        """Return the fast path of a processor, or none by chance, with draws that disturb no others."""
        return fast_path(*made_of) if self._forms.random() < 0.5 else None

    def _spread_snapshots(self, random):
        """Let snapshots take several transactions, in half of the runs, with draws that disturb no others.

        Where there are to be holes, snapshots and batches are small, and chains never end by themselves.
        """
        if random.random() < 0.5 and not self.has_holes:
            return

        class Slow(Packing):
            """Packs what it was given once it was asked some times whether it is done."""

            def __init__(self, pack):
                self._pack_now, self._n_asked = pack, random.choice((0, 0, 2, 10))

            def is_done(self):
                self._n_asked -= 1
                return self._n_asked < 0

            def records(self):
                return self._pack_now()

        spread = {"AT_ONCE_BYTES": 0, "COMMIT_BYTES": 1, "Packing": Slow}
        chunk_bytes, hand_over_bytes = random.choice((150, 600)), random.choice((0, inf))
        chains = {
            "INCREMENT_RATIO": random.choice((0.9, inf)),
            "CHAIN_RATIO": random.choice((0.5, 3, inf)),
            "MAX_INCREMENTS": random.choice((1, 3, 100)),
        }
        max_ratio = random.choice((0.5, inf))
        if self.has_holes:
            chains, max_ratio, chunk_bytes = {"INCREMENT_RATIO": inf, "CHAIN_RATIO": inf}, inf, 100_000
            often = {"snapshot_interval_records": random.choice((1, 5)), "max_batch_records": 2}
            self.settings = self.settings.model_copy(update=often)
        self.patches |= {
            snapshots: spread | chains,
            model_changes: {"_MAX_RATIO": max_ratio},
            snapshot: {"_CHUNK_BYTES": chunk_bytes},
            task: {"HAND_OVER_BYTES": hand_over_bytes},
        }

    def _prepare_input(self, random):
        settings = self.settings
        for topic in filter(None, (settings.events_topic, settings.labels_topic)):
            self.broker.create(topic, self.partitions)
        duration = random.choice((0.2, 1.0, 5.0))
        workload = Workload(
            random, settings.classes, settings.labels_topic, is_mapped=settings.events.is_mapped
        )
        n_events = random.choice((3, 8, 20, 50))
        if self.has_holes:
            n_events, duration = 50, 20.0
        sent = workload.records(n_events, duration)
        self.is_backlog = random.random() < 0.3 and not self.has_holes
        if self.is_backlog:
            self.clock.seconds = max((each.at_seconds for each in sent), default=0.0)
        self._to_send = sent[::-1]
        self.next_sent_at = 0.0
        self.messages = {}
        self.sources = [*self.broker.logs]
        self.slow = {source for source in self.sources if random.random() < 0.3}

    def feed(self):
        """Append what has been sent by now."""
        to_send, now = self._to_send, self.clock.seconds
        while to_send and to_send[-1].at_seconds <= now:
            sent = to_send.pop()
            n_partitions = self.broker.topics[sent.topic]
            # Where there is one model, a label finds its event wherever it lies.
            partition = self._spread.randrange(n_partitions) if self.is_shared else place(sent, n_partitions)
            log = self.broker.logs[sent.topic, partition]
            timestamp_ms = EPOCH_SECONDS * 1000 + sent.time_ms
            self.messages[sent.topic, partition, log.end] = sent.message
            self.broker.append(sent.topic, partition, sent.key, sent.value, (), timestamp_ms)
            if self.broker.leaves_gaps and self.random.random() < 0.1:
                log.skip(self.random.randint(1, 3))
        self.next_sent_at = to_send[-1].at_seconds if to_send else inf

    def run(self):
        """Let chance have its way; then, in calm, let everything be finished."""
        for _ in range(MAX_TURNS):
            if self.has_rejected or (not self._to_send and self._is_done()):
                break
            self.random.choice(self.slots).turn()
            self.losses.perhaps()
            if self.p_growth and self.random.random() < self.p_growth:
                self._grow()
            if self.random.random() < 0.2 and (undecided := self.broker.undecided()):
                self.broker.decide(self.random.choice(undecided))
        self._calm_down()

    def _grow(self):
        """Return the events topic more partitions, as somebody may at any time."""
        count = self.broker.topics["events"] + self.random.randint(1, 2)
        self.broker.create("events", count)
        self.broker.rebalance()
        self.counts["growths"] += 1
        self.note("--", f"events has {count} partitions")
        self.p_growth = self.p_growth * (count < MAX_PARTITIONS)

    def _is_done(self):
        """Return whether to end the storm: some time after the last record was sent."""
        return self.random.random() < 0.1

    def _calm_down(self):
        self.is_calm = True
        self.away_until = 0.0
        if self._to_send:
            self.clock.seconds = max(self.clock.seconds, self._to_send[0].at_seconds)
            self.feed()
        self.note("--", "calm")
        self.broker.decide_all()
        self.losses.damage_increments()
        if self.random.random() < 0.3 or self.counts["increments damaged"]:
            for slot in self.slots:
                slot.life = None  # all crash; what restores is what was committed
            for member in [*self.broker.group.members]:
                self.broker.leave(member)
        for _ in range(MAX_CALM_TURNS):
            if self.has_rejected or self._is_finished():
                break
            for slot in self.slots:
                slot.turn()
        else:
            raise SimulationFailure("it does not come to an end")
        for slot in self.slots:
            if slot.life is not None and not self.has_rejected:
                slot.leave()
        self.broker.decide_all()  # no transaction outlives its timeout

    def _is_finished(self):
        return (
            self._have_all_grown()
            and self._are_all_owned()
            and all(
                slot.life is not None and slot.life.is_idle and slot.life.runner.is_at_end()
                for slot in self.slots
            )
        )

    def _are_all_owned(self):
        """Return whether each partition has an owner who lives, and would say what of it is lost."""
        alive = {slot.life.member_id for slot in self.slots if slot.life is not None}
        owners = self.broker.group.owners
        n_owned = 1 if self.is_shared else self.broker.topics["events"]
        return all(owners.get(partition) in alive for partition in range(n_owned))

    def _have_all_grown(self):
        """Return whether all topics have followed the events: a service looks for that now and then."""
        counts = self.broker.topics
        return (
            min(n for topic, n in counts.items() if topic != "checkpoints" or not self.is_shared)
            >= (counts["events"])
        )

    def turn_of_another(self):
        """Let a process that is not in the middle of something do a step; return whether there was one."""
        others = [slot for slot in self.slots if slot not in self.stack]
        if not others:
            return False
        self.random.choice(others).turn()
        return True

    def may_reject(self, error):
        """Return whether an error that ends a process is right: what it needs was taken away."""
        return isinstance(error, CheckpointError) and self.losses.are_felt

    def note(self, name, text):
        """Note what happens, if anybody wants to know."""
        if self.trace is not None:
            self.trace.append(f"{self.clock.seconds:9.3f}  {name:3} {text}")

    def digest(self):
        """Return a digest of everything that was committed."""
        digest = hashlib.sha256()
        for source in sorted(self.broker.logs):
            for record in self.broker.logs[source].records:
                digest.update(repr(record).encode())
        return digest.hexdigest()


_base = cache(lambda: Settings(http="", create_topics="all"))


def draw_settings(random):
    """Draw settings: small batches, few snapshots or many, short patience."""
    model, classes = random.choice(
        (
            ("perceptron", ()),
            ("perceptron", ("ham", "spam")),
            ("perceptron", ("a", "b", "c")),
            ("passive-aggressive", ()),
            ("arow", ()),
        )
    )
    on_timeout = random.choice(("", "", classes[0] if classes else "false"))
    return _base().model_copy(
        update={
            "events": EventSettings(
                label_on_timeout=on_timeout, unlabelled="at_timeout" if classes else "matched"
            ),
            "model": model,
            "classes": classes,
            "labels_topic": random.choice(("", "labels")),
            "max_batch_records": random.choice((1, 2, 5, 20, 100, None)),
            "commit_interval_seconds": random.choice((0.001, 0.1, 0.5)),
            "session_timeout_seconds": random.choice((1.0, 5.0)),
            "snapshot_interval_records": random.choice((1, 10, 40, 1000)),
            "snapshot_interval_seconds": random.choice((2.0, 20.0, 1000.0)),
            "snapshots_kept": random.choice((1, 2, 3)),
            "label_timeout_seconds": random.choice((0.5, 3.0, 1000.0)),
            "label_correction_seconds": random.choice((0.0, 0.7, 30.0)) if on_timeout else 0.0,
            "max_pending": random.choice((1, 5, 1000)),
            "max_message_bytes": 400,
            "max_event_time_ahead_seconds": random.choice((1.0, 3600.0)),
            "on_data_loss": random.choice(("fail", "fail", "continue")),
        }
    )


class JudgedMetrics(Metrics):
    """Metrics of one process, which must not show more than was committed."""

    def publish(self, partition, state):
        self.life.publishes(partition, state)
        super().publish(partition, state)


_METRICS: dict[int, Metrics] = {}


def metrics_of(number):
    """Return the metrics of a process: made once, since making them takes longer than a run."""
    metrics = _METRICS.get(number)
    if metrics is None:
        metrics = _METRICS[number] = JudgedMetrics(CollectorRegistry())
    for each in (metrics.published, metrics.last_published, metrics.bounds):
        each.clear()
    metrics.lag = {}
    return metrics
