"""What an event of another schema costs, beside the same event in the service's own.

The events have ten numbers, an id and a label. In the other schema the numbers lie in two nested objects and
are found by ten paths of names; the id is an integer, the label a field or a comparison:

    python benchmarks/mapping.py [EVENTS]

Prints microseconds of processor time per event, medians over rounds that run all by turns, and the ratio to
the own schema in the same round: for decoding alone, and for the service with its loop, an embedded stream
in memory and its commits.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from event_path import drain, microseconds
from prometheus_client import CollectorRegistry

from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.partition.factory import make_decoder
from service.settings.load import Settings
from service.stream import Output
from service.transport import open_transport

ROUNDS = 7
FEATURES = 10
PATHS = [f"device.f{n}" if n % 2 else f"payment.amounts.f{n}" for n in range(FEATURES)]
BY_FIELDS: Mapping[str, Any] = {"id": "message.number", "label": "review.fraud", "features": PATHS}
MAPPINGS: Mapping[str, Mapping[str, Any]] = {
    "ten plain paths": BY_FIELDS,
    "and a label by comparison": {**BY_FIELDS, "label": "review.verdict == 'fraud'"},
    "and a filter by comparison": {**BY_FIELDS, "where": "message.source == 'web'"},
    "and a filter of numbers": {**BY_FIELDS, "where": "message.number >= `0`"},
    "all that is left (*)": {**BY_FIELDS, "features": ["*"], "exclude": ["review", "message"]},
}
OWN = "own schema"


def examples(count: int) -> Sequence[tuple[list[float], bool]]:
    """Draw numbers, and a linear truth with some noise."""
    rng = random.Random(1)
    truth = [rng.gauss(0, 1) for _ in range(FEATURES)]
    drawn = [[rng.gauss(0, 1) for _ in range(FEATURES)] for _ in range(count)]
    return [(x, sum(t * v for t, v in zip(truth, x, strict=True)) + rng.gauss(0, 0.3) > 0) for x in drawn]


def own_event(number: int, values: list[float], label: bool) -> dict[str, Any]:  # noqa: FBT001 - a class
    """Write an event in the service's own schema."""
    return {"id": str(number), "features": dict(zip(PATHS, values, strict=True)), "label": label}


def other_event(number: int, values: list[float], label: bool) -> dict[str, Any]:  # noqa: FBT001 - a class
    """Write the same event in another schema, with fields that nobody asks for."""
    named = {f"f{n}": value for n, value in enumerate(values)}
    return {
        "message": {"number": number, "source": "web"},
        "payment": {"amounts": {name: named[name] for name in list(named)[::2]}},
        "device": {name: named[name] for name in list(named)[1::2]},
        "review": {"fraud": label, "verdict": "fraud" if label else "none"},
    }


class Timed:
    """What is timed, on events of one schema.

    Parameters
    ----------
    values
        The events.
    settings
        Describe their schema.

    """

    def __init__(self, values: Sequence[bytes], settings: Settings) -> None:
        self._values = values
        self._settings = settings

    def decode(self) -> float:
        """Decode all events; return the microseconds that one takes."""
        decode = make_decoder(self._settings).decode
        return microseconds(lambda: drain(map(decode, self._values)), len(self._values))

    def serve(self) -> float:
        """Read, predict, learn, answer and commit all events, as `perceptron serve --exit-at-end` does."""
        with closing(open_transport("memory://")) as stream:
            stream.ensure_topics({"events": 1})
            stream.produce([Output("events", None, value, (), 0) for value in self._values])
            metrics = Metrics(CollectorRegistry())
            runner = Runner(stream, self._settings, metrics=metrics, health=Health())
            return microseconds(lambda: runner.run(exit_at_end=True), len(self._values))


def timed(count: int) -> Mapping[tuple[str, str], Callable[[], float]]:
    """Return what is timed: what is done, and with events of which schema."""
    numbered = [(number, *example) for number, example in enumerate(examples(count))]
    own = [json.dumps(own_event(*each)).encode() for each in numbered]
    other = [json.dumps(other_event(*each)).encode() for each in numbered]
    inputs = {OWN: Timed(own, Settings(http=""))} | {
        name: Timed(other, Settings(http="", events=mapping)) for name, mapping in MAPPINGS.items()
    }
    decoded = {("decode", name): each.decode for name, each in inputs.items()}
    return decoded | {("serve", name): each.serve for name, each in inputs.items()}


def main() -> None:
    """Print the table."""
    runs = timed(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
    rounds = [{key: run() for key, run in runs.items()} for _ in range(ROUNDS)]
    print(f"{'':<8}{'events':<28}{'us/event':>10}{'of own':>9}   spread")
    for action, name in runs:
        ratios = sorted(each[action, name] / each[action, OWN] for each in rounds)
        cost = statistics.median(each[action, name] for each in rounds)
        print(
            f"{action:<8}{name:<28}{cost:>10.2f}{statistics.median(ratios):>9.2f}"
            f"   {ratios[0]:.2f}-{ratios[-1]:.2f}"
        )


if __name__ == "__main__":
    main()
