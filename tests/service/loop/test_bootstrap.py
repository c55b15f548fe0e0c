"""A model is trained on files before its first record, once: the checkpoints remember it."""

import csv
import json
import logging
import random
from contextlib import closing

import pytest
from prometheus_client import CollectorRegistry

from service.errors import ConfigurationError, InputFileError
from service.loop.bootstrap import Bootstrap
from service.loop.context import Context
from service.loop.restore import restore
from service.loop.runner import Runner
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.stream.opening import open_transport
from service.stream.protocol import Output, Record
from service.verify.verify import verify
from tests.service.building import settings

EVENTS = {
    "id": "id",
    "timestamp": "at",
    "features": "x,user",
    "label": "y",
    "windows": [{"by": "user", "over": ["1h"], "of": {"@event": ["count"], "@label": ["rate"]}}],
}
TOPICS = {"labels_topic": "", "events": EVENTS, "commit_interval_seconds": 0.001, "max_batch_records": 7}


def rows(first, end):
    draws = random.Random(first)
    for n in range(first, end):
        x = draws.gauss(0, 1)
        yield {"id": f"e{n}", "at": 1_700_000_000 + 60 * n, "x": x, "user": f"u{n % 3}", "y": x > 0.2}


def write(path, found):
    path.write_text("".join(json.dumps(each) + "\n" for each in found))
    return str(path)


@pytest.fixture
def stream(tmp_path):
    with closing(open_transport(f"memory://{tmp_path}")) as transport:
        transport.ensure_topics({"events": 1})
        yield transport


@pytest.fixture
def history(tmp_path):
    return write(tmp_path / "history.ndjson", rows(0, 60))


def produce(stream, found, partition=0, topic="events"):
    stream.produce(
        [Output(topic, None, json.dumps(each).encode(), (), partition, each["at"] * 1000) for each in found]
    )


def run(stream, **given):
    metrics = Metrics(CollectorRegistry())
    Runner(Context(stream, settings(**TOPICS | given), metrics)).run(exit_at_end=True)
    return metrics


def model(stream, partition=0, **given):
    return restore(stream, settings(**TOPICS | given), partition).processor.learner.dump()


def processed(found):
    """Return a processor that all of these have come to, one after the other."""
    processor = make_processor(settings(**TOPICS))
    processor.process_batch(
        [
            Record("events", 0, n, each["at"] * 1000, None, json.dumps(each).encode())
            for n, each in enumerate(found)
        ]
    )
    return processor


def test_bootstrap_equals_the_same_records_in_topics(stream, history):
    """Counts are those of the topic alone, and proved."""
    produce(stream, rows(60, 90))
    counters = run(stream, bootstrap=history).last_published[0].counters
    assert model(stream) == processed([*rows(0, 60), *rows(60, 90)]).learner.dump()
    assert (counters.predictions, counters.labelled) == (30, 30)
    report = verify(stream, settings(**TOPICS))
    assert report.is_proved, [*report.findings]


def test_files_in_any_form_are_merged_by_event_time(stream, tmp_path):
    found = [*rows(0, 60)]
    with (tmp_path / "b.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, found[0])
        table.writeheader()
        table.writerows({**each, "y": int(each["y"])} for each in found[::2])
    a = write(tmp_path / "a.ndjson", found[1::2])
    run(stream, bootstrap=[str(tmp_path / "b.csv"), a])
    assert model(stream) == processed(found).learner.dump()


def test_bootstrap_trains_once_and_then_needs_no_files(stream, history, tmp_path):
    run(stream, bootstrap=history)
    before = model(stream)
    (tmp_path / "history.ndjson").unlink()
    run(stream, bootstrap=history)
    assert model(stream) == before
    run(stream)
    assert model(stream) == before


def test_crash_during_training_leaves_nothing_and_the_next_start_trains(stream, history, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Bootstrap, "_report", crash)
        with pytest.raises(KeyboardInterrupt):
            run(stream, bootstrap=history)
    assert stream.bounds("checkpoints", 0) == (0, 0)
    run(stream, bootstrap=history)
    assert model(stream) == processed(rows(0, 60)).learner.dump()


def test_each_partition_starts_with_the_bootstrapped_model(tmp_path, history):
    with closing(open_transport(f"memory://{tmp_path}/three")) as stream:
        stream.ensure_topics({"events": 3})
        run(stream, bootstrap=history)
        trained = processed(rows(0, 60)).learner.dump()
        assert [model(stream, partition) for partition in range(3)] == [trained] * 3


@pytest.mark.parametrize("began_with_files", [True, False])
def test_model_with_another_bootstrap_is_rejected(stream, history, tmp_path, began_with_files):
    run(stream, **{"bootstrap": history} if began_with_files else {})
    other = write(tmp_path / "other.ndjson", rows(0, 60))
    how = r"was trained on history\.ndjson" if began_with_files else "was not bootstrapped"
    with pytest.raises(ConfigurationError, match=f"partition 0 already has a model, which {how}"):
        run(stream, bootstrap=other)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("gone.ndjson", None, "no such file"),
        ("bad.csv", "foo,bar\n1,2\n", "all 1 messages were rejected"),
        ("unlabelled.ndjson", '{"id": "a", "at": 1, "x": 2, "user": "u"}\n', "no event has a label"),
        ("history.xyz", "{}", "unknown extension"),
    ],
)
def test_files_without_usable_examples_are_rejected_by_name(stream, tmp_path, name, text, complaint):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises((InputFileError, ConfigurationError), match=rf"{name}: .*{complaint}"):
        run(stream, bootstrap=str(tmp_path / name))
    assert stream.bounds("checkpoints", 0) == (0, 0)


def test_rows_without_ids_are_never_duplicates(stream, tmp_path, caplog):
    files = []
    for name in "ab":
        files.append(str(tmp_path / f"{name}.csv"))
        (tmp_path / f"{name}.csv").write_text("x,label\n1,true\n-1,false\n")
    with caplog.at_level(logging.INFO):
        Bootstrap(settings(bootstrap=files)).train()
    assert "4 events" in caplog.text
    assert "4 labelled" in caplog.text


def test_log_names_rejected_rows_without_their_values(tmp_path, caplog):
    (tmp_path / "a.csv").write_text('x,label\n"9,1",true\n1,private\n')
    Bootstrap(settings(bootstrap=[str(tmp_path / "a.csv")])).train()
    assert "a.csv:3: unknown_label: `perceptron check-input` shows why" in caplog.text
    assert "the column 'x' has numbers as strings: " in caplog.text
    assert not {"private", "9,1"} & {word for text in caplog.messages for word in text.split("'")}


@pytest.mark.parametrize(
    ("start", "warned"),
    [
        ({}, "60 rows are learned twice if the topic has them"),
        ({"start_from": "2023-11-14T23:00:00Z"}, "13 rows are learned twice if the topic has them"),
        ({"start_from": "2024-01-01T00:00:00Z"}, ""),
    ],
)
def test_rows_that_may_be_learned_twice_give_a_warning(history, caplog, start, warned):
    Bootstrap(settings(**TOPICS, bootstrap=[history], **start)).train()
    warnings = [each.message for each in caplog.records if "twice" in each.message]
    assert [warned in each for each in warnings] == [True] * bool(warned)
