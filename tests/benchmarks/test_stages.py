"""`make profile` asks the loop for its stages by name."""

from importlib import import_module
from pathlib import Path

import pytest

from service.stream import Output
from service.transport import open_transport

FOLDER = Path(__file__).parents[2] / "benchmarks"
N_EVENTS = 3000


@pytest.fixture
def stages(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module("stages")


def test_each_stage_of_the_loop_takes_time(stages):
    values = import_module("measures.examples").events(N_EVENTS)
    stream = open_transport("memory://")
    stream.ensure_topics({"events": 1})
    stream.produce([Output("events", b"%d" % n, value) for n, value in enumerate(values)])
    found = stages.microseconds(stream, values, {"events_topic": "events"})
    stream.close()
    assert set(found) == set(stages._STAGES)
    assert min(found[name] for name in ("poll", "batch", "commit", "rest of the loop")) > 0
