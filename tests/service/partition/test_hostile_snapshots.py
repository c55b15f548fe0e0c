"""Whatever stands in a sealed snapshot, it is rejected when it is restored, or the task that has it works.

PERCEPTRON_FUZZ_STATES says how many states are made at random, PERCEPTRON_FUZZ_SEED which ones.
"""

import json
import os
import random

import pytest

from perceptron_core.formats.packed import pack, unpack
from service.checkpoints.snapshot import Snapshot
from service.errors import CheckpointError
from service.loop.restore import processor_of
from service.partition.parts.kinds import ModelPart
from tests.perceptron_core.formats.test_hostile_states import changed
from tests.service.building import Feed, event, label, settings

INPUTS = int(os.environ.get("PERCEPTRON_FUZZ_STATES", "2000")) // 4
SEED = int(os.environ.get("PERCEPTRON_FUZZ_SEED", "0"))
STREAMS = {
    "plain": {},
    "calibrated": {"model": "normalized-adagrad", "drift": {"reaction": "record"}},
    "decided": {"decisions": [{"name": "a", "max_rate": "9/day"}, {"name": "b", "min_precision": 0.7}]},
    "timed out": {"label_timeout_seconds": 5, "events": {"label_on_timeout": "false"}, "max_pending": 4},
    "windows": {"events": {"windows": [{"by": "features.n", "over": ["1h"], "of": {"@label": ["rate"]}}]}},
}


def records(first, last):
    for n in range(first, last):
        yield event(f"e{n % 9}", "win" if n % 2 else "lose", n % 3 > 0 if n % 4 == 0 else None, n=n % 2)
        yield label(f"e{(n - 3) % 11}", n % 3 > 0)
    yield b"junk"


def processed(feed, first, last):
    for n, value in enumerate(records(first, last)):
        feed(value, at_seconds=first + n / 2)


EARLY = [("spam", None), (1, None), (True, -1.0), (True, 1e300), (True, float("nan"))]


@pytest.mark.parametrize(("truth", "weight"), EARLY, ids=str)
def test_early_label_that_the_model_cannot_learn_is_rejected(truth, weight):
    feed = Feed()
    feed(label("e", True))
    state = unpack(pack(feed.processor.state()))
    forged = state | {"join": state["join"] | {"early": [("e", truth, 0, weight)]}}
    with pytest.raises(CheckpointError, match="early"):
        processor_of(Snapshot(1, {}, {}, forged, {}), settings(), "checkpoints[0]")


@pytest.mark.timeout(200 + INPUTS // 5)
@pytest.mark.parametrize("name", STREAMS)
def test_snapshot_with_anything_changed_is_rejected_or_works(name):
    given, feed = settings(**STREAMS[name]), Feed(**STREAMS[name])
    processed(feed, 0, 12)
    state = unpack(pack(feed.processor.state()))
    parts = [part for part in state if part != ModelPart.name]
    for number in range(INPUTS // len(STREAMS)):
        chance = random.Random(f"{SEED} {name} {number}")
        other = dict(state)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            part = chance.choice(parts)
            other[part] = changed(other[part], chance)
        try:
            restored = processor_of(Snapshot(1, {}, {}, unpack(pack(other)), {}), given, "checkpoints[0]")
        except CheckpointError:
            continue
        try:
            used = Feed(**STREAMS[name])
            used.processor = restored
            processed(used, 12, 24)
            unpack(pack(restored.state()))
            restored.counts()
            for each in restored.parts():
                each.metrics()
                each.summary({})
        except Exception as error:
            found = json.dumps(other, default=repr)
            error.add_note(f"PERCEPTRON_FUZZ_SEED={SEED}, state {number}: {found[:3000]}")
            raise
