"""Streams on which several partitions share one model."""

import json
from random import Random

from prometheus_client import CollectorRegistry

from service.checkpoints.log import read_log
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.sharing.contribution import from_record
from service.sharing.lanes import Lanes
from service.sharing.participant import Participant
from service.stream import Output
from tests.service.building import Feed, SetClock, event, settings
from tests.support.shared_rounds import checksums_of

N_FEATURES = 40
SHARED = {"share_model": True, "commit_interval_seconds": 0.001, "max_batch_records": 40}


def events(n, *, seed=0, prefix="e"):
    """Make labelled events of a linear concept."""
    chance, concept = Random(seed), Random(7)
    weights = [concept.gauss(0, 1) for _ in range(N_FEATURES)]
    found = []
    for k in range(n):
        features = chance.sample(range(N_FEATURES), 5)
        label = sum(weights[each] for each in features) > 0
        found.append(
            {"id": f"{prefix}{k}", "features": {f"f{each}": 1.0 for each in features}, "label": label}
        )
    return found


def feed(stream, messages, n_partitions, *, only=None):
    """Write messages to partitions in turn, or to one."""
    stream.ensure_topics({"events": n_partitions})
    stream.produce(
        [
            Output("events", None, json.dumps(m).encode(), (), k % n_partitions if only is None else only)
            for k, m in enumerate(messages)
        ]
    )


def run(stream, **given):
    """Process what is there; return the metrics."""
    metrics = Metrics(CollectorRegistry())
    made = settings(**(SHARED | given))
    Runner(stream, made, metrics=metrics, health=Health()).run(exit_at_end=True)
    return metrics


def progress(stream, partition):
    return read_log(stream.read("checkpoints", partition), "online-perceptron").progress


def told(stream):
    """Return what the last progress record of each partition tells of the rounds."""
    return [progress(stream, each)[-1].rounds for each in range(stream.partition_count("events"))]


def bases(stream):
    """Return the checksums of each base, of all partitions."""
    return checksums_of(each for p in range(stream.partition_count("events")) for each in progress(stream, p))


def contributions(stream, lane):
    return [from_record(record, "online-perceptron") for record in stream.read("mixes", lane)]


class Party:
    """Partitions that take part in rounds when a test says so.

    What each contributes is committed at once; `clock` stands still.
    """

    def __init__(self, stream, *feeds):
        self.settings = settings(share_model=True)
        stream.ensure_topics({"mixes": len(feeds)})
        self.stream, self.clock, self.lanes = stream, SetClock(), Lanes(stream, self.settings)
        self.feeds = feeds
        self.members = [self.open(lane) for lane in range(len(feeds))]

    def open(self, lane, find_base=lambda: None):
        """Make the participant of a partition, as it was left."""
        return Participant(
            lane,
            self.feeds[lane].processor.rounds,
            self.lanes,
            find_base=find_base,
            count_lanes=lambda: len(self.feeds),
            transport=self.stream,
            settings=self.settings,
            clock=self.clock,
        )

    @classmethod
    def of_three(cls, stream):
        """Make three partitions that have begun, of which 0 has learned enough to open a round."""
        feeds = [Feed(share_model=True) for _ in range(3)]
        party = cls(stream, *feeds)
        party.take_part(0, 1, 2)
        for number in range(40):
            feeds[0](event(str(number), f"w{number}", label=number % 2 == 0))
        return party

    def take_part(self, *lanes):
        """Let these partitions do what the rounds ask of them, all that they can."""
        for _ in range(4):
            self.lanes.poll()
            for lane in lanes:
                self.clock.seconds += 1e-3
                self.members[lane].prepare()
                if self.members[lane].is_due():
                    self.members[lane].measure_distance()
                    self.stream.produce(self.members[lane].contribution())

    def close(self):
        self.lanes.close()
