"""One model over all partitions: what it is worth, and what it costs.

    python benchmarks/sharing.py [--table mistakes|costs|rounds] [--stream NAME …] [--model NAME …]
        [--partitions N …] [--rate N] [--data DATA] [--broker URL] [--kafka-client NAME]

Everything goes through the service: `serve --share-model` beside `serve` on the same stream, in memory unless
a broker is named. Where the model is shared, events come live, `--rate` a second (5,000): how late partitions
learn of each other decides what sharing is worth. The streams:

    sms     words of the SMS Spam Collection, lower case
    a9a     the Adult data
    words   made up: 12 to 20 draws from 20,000 words with probability proportional to 1/rank; the class is
            the sign of the sum of what the words mean, plus noise; with every event 0.04 words on average get
            a new meaning
    skewed  the same, half of all events in partition 0

Events go to partitions at random. With one partition there is nothing to share: that is the serial learner.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import threading
import time
import uuid
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import figures
from prometheus_client import CollectorRegistry

from service.checkpoints.log import read_log
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.sharing.contribution import from_record
from service.stream import Output, Transport
from service.transport import open_transport

INTERVAL_SECONDS: Final = 0.1
FEED_SECONDS: Final = 0.01
N_WORDS: Final = 20_000
N_EVENTS: Final = 200_000
REDRAWN: Final = 0.04
NOISE: Final = 0.3
MODELS: Final = ("perceptron", "arow", "auto")
N_COST_EVENTS: Final = 50_000

REPETITIONS: Final = 5

Event = tuple[dict[Any, float], bool]


class Outcome(NamedTuple):
    """What came of one run."""

    mistakes: int
    events: int
    processor_seconds: float
    lanes_bytes: int
    rounds: int


def drifting_words(n_events: int = N_EVENTS, seed: int = 14) -> Iterator[Event]:
    """Make documents of words whose meaning drifts."""
    chance = random.Random(seed)
    shares = list(itertools.accumulate(1 / rank for rank in range(1, N_WORDS + 1)))
    meaning = [chance.gauss(0, 1) for _ in range(N_WORDS)]
    for _ in range(n_events):
        drawn = {bisect(shares, chance.random() * shares[-1]) for _ in range(chance.randint(12, 20))}
        if chance.random() < REDRAWN:
            meaning[chance.randrange(N_WORDS)] = chance.gauss(0, 1)
        score = sum(meaning[word] for word in sorted(drawn)) + NOISE * chance.gauss(0, 1)
        yield {f"w{word}": 1.0 for word in sorted(drawn)}, score > 0


def streams(data: Path) -> dict[str, Callable[[], Sequence[Event]]]:
    """Return what makes each stream."""
    return {
        "sms": lambda: figures.words(data),
        "a9a": lambda: figures.a9a(data),
        "words": lambda: list(drifting_words()),
        "skewed": lambda: list(drifting_words()),
    }


class Bench:
    """Runs the service on events, shared or not."""

    def __init__(self, broker: str, kafka_client: str, rate: int) -> None:
        self._broker = broker
        self._kafka_client = kafka_client
        self._rate = rate

    def run(
        self, events: Sequence[Event], model: str, partitions: int, *, shared: bool, skewed: bool = False
    ) -> Outcome:
        """Process all events; return what came of them."""
        stream, settings = self._open(model, partitions, shared=shared)
        outputs = list(placed(events, settings.events_topic, partitions, skewed=skewed))
        for at in range(0, len(outputs), 10_000):
            stream.produce(outputs[at : at + 10_000])
        metrics = Metrics(CollectorRegistry())
        runner = Runner(stream, settings, metrics=metrics, health=Health())
        runner.start()
        began = time.process_time()
        while not (runner.step() and runner.is_at_end()):
            pass
        seconds = time.process_time() - began  # the snapshots at the end are no cost of an event
        runner.close()
        mistakes = sum(state.counters.mistakes for state in metrics.last_published.values())
        n_bytes, rounds = lanes_of(stream, settings, partitions) if shared else (0, 0)
        stream.close()
        return Outcome(mistakes, len(events), seconds, n_bytes, rounds)

    def run_live(
        self, events: Sequence[Event], model: str, partitions: int, *, skewed: bool = False
    ) -> tuple[int, list[float]]:
        """Feed events at the rate, the model shared; return the mistakes, and how long each round took."""
        stream, settings = self._open(model, partitions, shared=True)
        outputs = list(placed(events, settings.events_topic, partitions, skewed=skewed))
        feeder = threading.Thread(target=self._feed, args=(stream, outputs))
        metrics = Metrics(CollectorRegistry())
        runner = Runner(stream, settings, metrics=metrics, health=Health())
        runner.start()
        feeder.start()
        while not (runner.step() and not feeder.is_alive() and runner.is_at_end()):
            pass
        runner.close()
        wrong = sum(state.counters.mistakes for state in metrics.last_published.values())
        found = times_of(stream, settings, partitions)
        stream.close()
        return wrong, found

    def _feed(self, stream: Transport, outputs: Sequence[Output]) -> None:
        step, due = max(1, int(self._rate * FEED_SECONDS)), time.monotonic()
        for at in range(0, len(outputs), step):
            stream.produce(outputs[at : at + step])
            due += FEED_SECONDS
            time.sleep(max(0.0, due - time.monotonic()))

    def _open(self, model: str, partitions: int, *, shared: bool) -> tuple[Transport, Settings]:
        suffix = uuid.uuid4().hex[:8]
        names = ("events", "predictions", "dead_letters", "checkpoints", "mixes")
        topics: dict[str, Any] = {
            f"{name}_topic": f"bench-{name.replace('_', '-')}-{suffix}" for name in names
        }
        settings = Settings(
            group=f"bench-{suffix}",
            http="",
            labels_topic="",
            partitions=partitions,
            model=model,
            share_model=shared,
            commit_interval_seconds=INTERVAL_SECONDS,
            **topics,
        )
        stream = open_transport(self._broker, kafka_client=self._kafka_client)  # type: ignore[arg-type]
        stream.ensure_topics({settings.events_topic: partitions})
        return stream, settings


def placed(events: Sequence[Event], topic: str, partitions: int, *, skewed: bool) -> Iterator[Output]:
    """Write events as records, each in a partition that chance chooses."""
    chance = random.Random(5)
    for number, (x, y) in enumerate(events):
        partition = 0 if skewed and chance.random() < 1 / 2 else chance.randrange(partitions)
        value = {"id": str(number), "features": {str(name): each for name, each in x.items()}, "label": y}
        yield Output(topic, None, json.dumps(value).encode(), (), partition)


def lanes_of(stream: Transport, settings: Settings, partitions: int) -> tuple[int, int]:
    """Return the bytes of all contributions that are there, and the number of the last round."""
    found = [
        from_record(record, settings.group)
        for lane in range(partitions)
        for record in stream.read(settings.mixes_topic, lane)
    ]
    return sum(len(each.value) for each in found), max((each.round for each in found), default=0)


def times_of(stream: Transport, settings: Settings, partitions: int) -> list[float]:
    """Return the seconds from the first contribution to a round to the last batch that applies it."""
    opened: dict[int, int] = {}
    for lane in range(partitions):
        for record in stream.read(settings.mixes_topic, lane):
            number = from_record(record, settings.group).round
            opened[number] = min(opened.get(number, record.timestamp_ms), record.timestamp_ms)
    applied: dict[int, list[int]] = {}
    for partition in range(partitions):
        last = 0
        log = read_log(stream.read(settings.checkpoints_topic, partition), settings.group)
        for progress in log.progress:
            number = progress.rounds.get("round", 0)
            if number > last and progress.now_ms is not None:
                applied.setdefault(number, []).append(progress.now_ms)
                last = number
    return [
        (max(times) - opened[number]) / 1000
        for number, times in applied.items()
        if len(times) == partitions and number in opened
    ]


def mistakes(bench: Bench, given: argparse.Namespace) -> None:
    """Print the mistakes of each stream and model by partitions, shared and not."""
    print("| stream | model | partitions | one model | each its own | shared | gap closed |")
    print("|---|---|---|---|---|---|---|")
    made = streams(given.data)
    for name in given.stream or made:
        events, is_skewed = made[name](), name == "skewed"
        for model in given.model:
            serial = bench.run(events, model, 1, shared=False, skewed=False).mistakes
            for partitions in given.partitions:
                alone = bench.run(events, model, partitions, shared=False, skewed=is_skewed).mistakes
                shared, _ = bench.run_live(events, model, partitions, skewed=is_skewed)
                gap = f"{(alone - shared) / (alone - serial):.0%}" if alone > serial else ""
                numbers = f"{serial:,} | {alone:,} | {shared:,}"
                print(f"| {name} | {model} | {partitions} | {numbers} | {gap} |", flush=True)


def costs(bench: Bench, given: argparse.Namespace) -> None:
    """Print processor time and bytes per event, shared and not: medians of runs that take turns."""
    print("| model | partitions | µs an event, each its own | shared | ratio | bytes an event | rounds |")
    print("|---|---|---|---|---|---|---|")
    events = list(drifting_words(N_COST_EVENTS))
    for model in given.model:
        for partitions in given.partitions:
            pairs = [
                [bench.run(events, model, partitions, shared=shared) for shared in (False, True)]
                for _ in range(REPETITIONS)
            ]
            ratio = statistics.median(two.processor_seconds / one.processor_seconds for one, two in pairs)
            alone, shared = (statistics.median(pair[k].processor_seconds for pair in pairs) for k in range(2))
            last = pairs[-1][1]
            n_bytes = last.lanes_bytes / len(events)
            each = 1e6 / len(events)
            print(
                f"| {model} | {partitions} | {alone * each:.1f} | {shared * each:.1f} | {ratio:.2f} | "
                f"{n_bytes:.0f} | {last.rounds} |",
                flush=True,
            )


def rounds(bench: Bench, given: argparse.Namespace) -> None:
    """Print how long rounds take at the rate."""
    print("| model | partitions | rounds | median seconds | 90 % | longest |")
    print("|---|---|---|---|---|---|")
    events = list(drifting_words(10 * given.rate))
    for model in given.model:
        for partitions in given.partitions:
            found = sorted(bench.run_live(events, model, partitions)[1])
            times = (statistics.median(found), found[int(0.9 * len(found))], found[-1])
            print(
                f"| {model} | {partitions} | {len(found)} | " + " | ".join(f"{t:.2f}" for t in times) + " |"
            )


TABLES: Final = {"mistakes": mistakes, "costs": costs, "rounds": rounds}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--table", choices=TABLES, default="mistakes")
    parser.add_argument("--data", type=Path, default=figures.DATA)
    parser.add_argument("--broker", default="memory://")
    parser.add_argument("--kafka-client", default="kafka-python")
    parser.add_argument("--stream", action="append", choices=("sms", "a9a", "words", "skewed"))
    parser.add_argument("--model", action="append")
    parser.add_argument("--partitions", action="append", type=int)
    parser.add_argument("--rate", type=int, default=5000)
    given = parser.parse_args()
    given.model = given.model or MODELS
    given.partitions = given.partitions or (4, 16)
    TABLES[given.table](Bench(given.broker, given.kafka_client, given.rate), given)


if __name__ == "__main__":
    main()
