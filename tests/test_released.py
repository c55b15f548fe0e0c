"""Streams that earlier releases have written are read, and their models go on learning to the same bits.

`released/0.1.0/` was written by commit aff8e4f: a stream of four groups, killed between two snapshots,
and what the same release predicted of the next ten events.
"""

import gzip
import json
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from service.loop.runner import Runner
from service.messages.schema import PREDICTION
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.stream import Output
from service.transport import open_transport
from tests.service.building import settings

RELEASED = Path(__file__).with_name("released") / "0.1.0"
LATER = json.loads((RELEASED / "answers.json").read_text(encoding="utf-8"))
GIVEN = {
    "perceptron": {"events_topic": "events"},
    "arow": {"events_topic": "events", "hash_bits": 8},
    "averaged-perceptron": {"events_topic": "many", "classes": ("ham", "spam", "other")},
    "released_pipeline:make": {"events_topic": "events", "checkpoint_key": "released"},
}


@pytest.fixture
def stream(tmp_path):
    path = tmp_path / "stream.db"
    path.write_bytes(gzip.decompress((RELEASED / "stream.db.gz").read_bytes()))
    transport = open_transport(f"sqlite:///{path}")
    yield transport
    transport.close()


@pytest.mark.parametrize(("number", "model"), list(enumerate(GIVEN)))
def test_a_model_of_the_last_release_goes_on_as_there(stream, monkeypatch, number, model):
    monkeypatch.syspath_prepend(RELEASED)
    topic = GIVEN[model]["events_topic"]
    new = [Output(topic, each["id"].encode(), json.dumps(each).encode()) for each in LATER["events"][topic]]
    stream.produce(new)
    given = settings(
        model=model,
        group=f"g{number}",
        labels_topic="",
        predictions_topic=f"p{number}",
        dead_letters_topic=f"d{number}",
        checkpoints_topic=f"c{number}",
        max_batch_records=10,
        **GIVEN[model],
    )
    Runner(stream, given, metrics=Metrics(CollectorRegistry()), health=Health()).run(exit_at_end=True)
    answers = [record.value.decode() for record in stream.read(f"p{number}", 0)]
    assert [without_later(each) for each in answers[40:]] == [
        without_later(each) for each in LATER["answers"][model]
    ]


def without_later(answer):
    """Return an answer without what releases have added."""
    later = {field.name for field in PREDICTION if field.written.lasting}
    return {name: value for name, value in json.loads(answer).items() if name not in later}
