"""The latest outputs and mistakes of a partition, with what is known of their events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.monitoring import recent
from service.monitoring.history import RECENT, History, Point
from service.monitoring.recent import MISTAKES_KEPT, OUTPUTS_KEPT, RecentOutputs
from service.partition.parts.counters import Counters
from tests.service.building import Feed, event, label
from tests.service.web.stage import Stage


class Watched(Feed):
    """A feed whose batches are noted as the loop notes them."""

    def __init__(self, **given):
        super().__init__(**given)
        self.outputs = RecentOutputs("predictions")
        self.outputs.decoder = self.processor.decoder

    def batch(self, *messages):
        records = [self.record(message) for message in messages]
        self.outputs.note(records, self.processor.process_batch(records).outputs)

    def latest(self):
        has_log_odds = self.processor.learner.has_log_odds
        return self.outputs.latest(self.processor.join.examples.get, has_log_odds=has_log_odds)


@pytest.fixture
def feed():
    return Watched()


def test_outputs_are_listed_with_their_events_newest_first(feed):
    feed.batch(event("a", "win", label=True, n=1.5), b"junk", event("b", "", flag=True))
    (one, other), _ = feed.latest()
    assert (one.fields["id"], one.content, one.fields["score"]) == ("b", {"features": {"flag": True}}, 1.0)
    assert other.content == {"text": "win", "features": {"n": 1.5}}
    assert other.fields["truth"] is True


@pytest.mark.parametrize(("model", "name"), [("perceptron", "score"), ("coin-betting", "probability")])
def test_outcome_has_its_predictions_score_and_probability(model, name):
    feed = Watched(model=model)
    feed.batch(event("a", "win", label=True), event("b", "win"))
    feed.batch(label("b", False))
    (outcome, prediction, _), (mistake, *_) = feed.latest()
    assert outcome.fields["mistake"] is True
    assert mistake == outcome
    assert outcome.fields[name] == prediction.fields[name] != 0


def test_features_of_an_event_without_record_are_shown(feed, monkeypatch):
    monkeypatch.setattr(recent, "_RECORDS_KEPT", 3)
    feed.batch(event("a", "win", n=1.5))
    feed.batch(*(event(f"e-{n}") for n in range(5)))
    feed.batch(label("a", True))
    assert feed.latest()[0][0].content == {"text": "win", "features": {"n": 1.5}}


def test_text_of_a_text_model_is_shown_whole(monkeypatch):
    feed = Watched(model="auto")
    monkeypatch.setattr(recent, "_RECORDS_KEPT", 0)
    feed.batch(event("a", "win money", n=1.5, label=True))
    assert feed.latest()[0][0].content == {"text": "win money", "features": {"n": 1.5}}


def test_recent_records_are_bounded_by_number_and_bytes(feed, monkeypatch):
    monkeypatch.setattr(recent, "_RECORDS_BYTES", 1000)
    feed.batch(*(event(f"e-{n}", "x" * 400) for n in range(100)))
    latest, _ = feed.latest()
    assert [each.fields["id"] for each in latest] == [f"e-{n}" for n in range(99, 99 - OUTPUTS_KEPT, -1)]
    assert [*feed.outputs.contents()] == ["e-98", "e-99"]


def test_contents_of_another_schema_are_shown_by_the_mapping():
    feed = Watched(events={"id": "meta.number", "text": "mail.body", "features": "mail.size"})
    feed.batch({"meta": {"number": 7}, "mail": {"body": "win", "size": 3}, "label": True}, {"no": "event"})
    ((output,), _) = feed.latest()
    assert (output.fields["id"], output.content) == ("7", {"text": "win", "features": {"mail.size": 3.0}})


def mistakes(feed):
    """Return the mistakes that are shown, newest first."""
    return feed.latest()[1]


def ids(feed):
    return [each.fields["id"] for each in mistakes(feed)]


def test_mistakes_are_listed_with_readable_event_contents(feed, monkeypatch):
    monkeypatch.setattr(recent, "_RECORDS_KEPT", 0)
    feed.batch(event("right", "win money", label=True), event("wrong", "win money now", label=False))
    feed.batch(event("late", "see", label=True, n=0.5), event("last", "see", label=True))
    assert [(each.fields["id"], each.content) for each in mistakes(feed)] == [
        ("late", {"text": "see", "features": {"n": 0.5}}),
        ("wrong", {"text": "win money now"}),
        ("right", {"text": "win money"}),
    ]


def test_correction_removes_a_mistake(feed):
    feed.batch(event("a", "win", label=True), event("b", "win", label=False))
    assert ids(feed) == ["b", "a"]
    feed.batch(label("a", False))
    assert ids(feed) == ["b"]


def test_text_with_mistake_fields_is_not_a_mistake(feed):
    feed.batch(event('"mistake":true', "win"), event("b", '"mistake":true'))
    assert ids(feed) == []


def test_latest_mistakes_of_a_large_batch_are_kept(feed, monkeypatch):
    monkeypatch.setattr(recent, "_LOOKED_AT", 40)
    feed.batch(*(event(f"e-{n}", "x", label=n % 2 == 0) for n in range(100)))
    assert ids(feed) == [f"e-{n}" for n in range(99, 59, -1)]
    feed.batch(*(event(f"f-{n}", "x", label=n % 2 == 0) for n in range(40)))
    assert ids(feed)[39:41] == ["f-0", "e-99"]
    assert len(ids(feed)) == MISTAKES_KEPT


def test_hashed_features_are_shown_by_their_numbers(monkeypatch):
    monkeypatch.setattr(recent, "_RECORDS_KEPT", 0)
    feed = Watched(hash_bits=10)
    feed.batch(event("a", "", label=True, n=1.5))
    ((name, value),) = mistakes(feed)[0].content["features"].items()
    assert (name[0], value) == ("#", 1.5)


def test_page_shows_contributions_to_a_mixture():
    stage = Stage(model="auto")
    for n in range(40):
        stage(event(f"e-{n}", "win money" if n % 2 else "see you", label=n % 2 == 1))
    with stage.served() as client:
        told = client.get("/state").json()
    (terms,) = told["terms"]
    text = terms["fields"][0]
    assert (terms["class"], terms["n_events"], text["name"]) == (True, 20, "text")
    assert text["plus"] > 0 > text["minus"]
    added = dict(text["features"])
    assert added["text: win"] > 0 > added["text: see"]


CAPACITY = 16


def point(labelled):
    return Point(labelled, 0, 0, None, None)


@given(st.lists(st.integers(0, 50), max_size=300))
def test_history_is_bounded_ordered_and_complete(steps):
    history, labelled, added = History(CAPACITY), 0, []
    for step in steps:
        labelled += step
        history.add(point(labelled))
        added.append(labelled)
    shown = [each.labelled for each in history.points()]
    assert len(shown) <= CAPACITY + 1
    assert shown == sorted(set(shown))
    assert set(shown) <= set(added)
    assert shown[:1] == added[:1]
    assert shown[-1:] == added[-1:]


def test_point_has_the_lifetime_and_the_recent_error():
    counters = Counters()
    counters.score([True] * 10 + [False] * (RECENT - 4) + [True] * 4)
    assert Point.of(counters, 3) == Point(RECENT + 10, 14, 3, 14 / (RECENT + 10), 4 / RECENT)


def test_correction_changes_the_newest_point():
    counters, history = Counters(), History()
    counters.score([True])
    history.add(Point.of(counters, 1))
    counters.revised = -1
    history.add(Point.of(counters, 1))
    assert [(each.labelled, each.mistakes, each.error) for each in history.points()] == [(1, 0, 0.0)]
