"""Streams on which several partitions share one model."""

import json
from random import Random

from prometheus_client import CollectorRegistry

from service.checkpoints.log import read_log
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.sharing.contribution import from_record
from service.stream import Output
from tests.service.building import settings
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
