"""What the benchmarks count, and what they make of it."""

import importlib
import json
from datetime import date
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from service.stream.opening import open_transport
from service.stream.protocol import Output

FOLDER = Path(__file__).parents[2] / "benchmarks"
EXAMPLES = [({"n": n}, n % 2 == 0) for n in range(100)]


@pytest.fixture(autouse=True)
def _folder(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def module(name):
    return importlib.import_module(name)


def result(ours, peer=(), **declared):
    measures = module("measures")
    row = measures.Row("row", "A | B", "events/s", "how", **(declared or {"least": 2}))
    return measures.Result(row, list(ours), list(peer))


def test_result_is_the_ratio_of_medians_with_spread_of_runs():
    found = result([10, 20, 90], [1, 5, 10])
    assert (found.value, found.spread) == (4, (4, 10))
    assert result([3, 5, 4]).value == 4


@pytest.mark.parametrize(
    ("ours", "peer", "goal", "verdict"),
    [
        ([6, 6, 6], [1, 1, 1], {"least": 2}, "yes"),
        ([6, 6, 1], [1, 1, 1], {"least": 2}, "yes?"),
        ([1, 1, 6], [1, 1, 1], {"least": 2}, "NO?"),
        ([4], [], {"most": 3}, "NO"),
        ([4], [], {"most": 4}, "yes"),
        ([4], [], {"note": "alongside another"}, ""),
    ],
)
def test_verdict_compares_medians_and_is_uncertain_for_single_runs(ours, peer, goal, verdict):
    assert result(ours, peer, **goal).verdict == verdict


def test_page_quotes_limits_skips_and_stages():
    skipped = result([])
    skipped.missing = "skipped: no JVM"
    limited = result([1], [1], least=2, note="limited by memory")
    page = module("measures").page([skipped, limited], ["a machine"], date(2026, 1, 2), ["| poll | 1.00 |"])
    assert r"| A \| B | 1 events/s | 1 events/s | 1× | ≥ 2× | 1–1 | NO |" in page
    for line in ("- a machine", "- Date: 2026-01-02", r"- **A \| B**: limited by memory", "| poll | 1.00 |"):
        assert line in page.splitlines()
    assert "skipped: no JVM" in page


def test_every_declared_row_is_measured():
    rows = {row.measure or row.name for row in module("measures").ROWS}
    assert rows == module("run").MEASURES.keys()


def test_service_and_peer_alternate_in_starting_first(monkeypatch, capsys):
    run, order = module("run"), []
    comparison = (lambda: order.append("ours") or (1,), lambda: order.append("peer") or (1,))
    monkeypatch.setattr(run, "MEASURES", {"arow-20": lambda quick: comparison})
    (found,) = run.measured("arow-20", 2, quick=True)
    assert order == ["ours", "peer", "peer", "ours"]
    assert (found.ours, found.peer) == ([1, 1], [1, 1])


def test_fastest_transactions_of_a_peer_are_chosen():
    serve = module("serve")

    def run(batch):
        if batch == 2:
            raise serve.ProcessFailed("NOT_COORDINATOR")
        return {1: 5.0, 3: 7.0}[batch]

    assert serve.best_batch(run, (1, 2, 3)) == 3
    with pytest.raises(serve.ProcessFailed, match="NOT_COORDINATOR"):
        serve.best_batch(run, (2,))


def test_commits_are_summed_while_a_broker_starts(monkeypatch):
    broker = module("broker")
    responses = [KafkaError.NOT_COORDINATOR, [-1001, 3], [3, 4], KafkaError.TOPIC_AUTHORIZATION_FAILED]

    class Observer:
        def __init__(self, options):
            pass

        def committed(self, places, seconds):
            found = responses.pop(0)
            if isinstance(found, int):
                raise KafkaException(KafkaError(found))
            return [TopicPartition("events", n, offset) for n, offset in enumerate(found)]

        def close(self):
            pass

    monkeypatch.setattr(broker, "Consumer", Observer)
    with broker.Stream("127.0.0.1:1", Path()).progress("group", "events", 2) as progress:
        assert [progress() for _ in range(3)] == [0, 3, 7]
        with pytest.raises(KafkaException):
            progress()


@pytest.mark.parametrize("delay", [0, 3])
def test_label_follows_its_event_by_the_given_number(delay):
    data = module("data")
    sent = [json.loads(value) for value in data.with_late_labels(20, delay)]
    ids = [message["id"] for message in sent if "features" in message]
    labels = {message["id"]: message["label"] for message in sent if "label" in message}
    assert labels == {event["id"]: event["label"] for event in map(json.loads, data.events(20))}
    first = next(n for n, message in enumerate(sent) if "label" in message)
    assert (first, sent[first]["id"]) == (delay + 1, ids[0])


def test_each_stage_of_the_loop_takes_time():
    stages, stream = module("stages"), open_transport("memory://")
    stream.ensure_topics({"events": 1})
    events = module("data").events(3000)
    stream.produce([Output("events", b"%d" % n, value) for n, value in enumerate(events)])
    found = stages.microseconds(stream, 3000, {"events_topic": "events"})
    stream.close()
    assert min(found[name] for name in ("poll", "batch", "commit", "rest of the loop")) > 0


class Recorder:
    """Gives True a probability of 0.75 once it has learned; remembers what it was asked and taught."""

    def __init__(self):
        self.calls = []

    def predict_proba_one(self, x):
        has_learned = "learn" in [call for call, _ in self.calls]
        self.calls.append(("predict", x["n"]))
        return {False: 0.25, True: 0.75} if has_learned else {}

    def learn_one(self, x, y):
        self.calls.append(("learn", x["n"]))


@pytest.mark.parametrize(
    ("condition", "calls"),
    [
        ({}, [("predict", 0), ("learn", 0), ("predict", 1), ("learn", 1)]),
        ({"delay": 2}, [("predict", 0), ("predict", 1), ("predict", 2), ("learn", 0)]),
        ({"patience": -1}, [("predict", 0), ("learn", 0)]),
    ],
)
def test_event_is_predicted_and_learned_when_its_label_comes(condition, calls):
    prequential, model = module("prequential"), Recorder()
    prequential.judged(model, EXAMPLES, prequential.Condition(**condition))
    assert model.calls[:4] == calls


def test_pass_scores_probabilities_against_the_truth():
    found = module("prequential").judged(Recorder(), EXAMPLES[:3])
    assert found.wrongs == [True, True, False]
    assert found.losses == pytest.approx([0.693147, 1.386294, 0.287682], abs=1e-6)


def test_stopped_contender_is_compared_over_the_events_it_reached():
    assert module("auto").ratio([[True, True]], [[True, False, True, True]]) == 2
