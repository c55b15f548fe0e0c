import pytest

from service.monitoring import recent
from service.monitoring.recent import ANSWERS_KEPT, RecentAnswers
from tests.service.building import Feed, event, label


class Watched(Feed):
    """A feed whose batches are noted as the loop notes them."""

    def __init__(self, **given):
        super().__init__(**given)
        self.answers = RecentAnswers("predictions")
        self.answers.decoder = self.processor.decoder
        self.processor.observe = self.answers.observe

    def batch(self, *messages):
        records = [self.record(message) for message in messages]
        self.answers.note(records, self.processor.process_batch(records).outputs)

    def latest(self):
        return self.answers.latest(self.answers.contents(), lambda _: None)


@pytest.fixture
def feed():
    return Watched()


def test_each_answer_comes_with_what_it_answers_newest_first(feed):
    feed.batch(event("a", "win", label=True, n=1.5), b"junk", event("b", "", flag=True))
    one, other = feed.latest()
    assert (one.answer["id"], one.content, one.answer["score"]) == ("b", {"features": {"flag": True}}, 1.0)
    assert other.content == {"text": "win", "features": {"n": 1.5}}
    assert other.answer["truth"] is True


def test_an_outcome_has_the_score_of_its_prediction(feed):
    feed.batch(event("a", "win", label=True), event("b", "win"))
    feed.batch(label("b", False))
    outcome, prediction, _ = feed.latest()
    assert outcome.answer["mistake"] is True
    assert outcome.answer["score"] == prediction.answer["score"] == 2.0


def test_an_outcome_has_the_probability_of_its_prediction():
    feed = Watched(model="coin-betting")
    feed.batch(event("a", "win", label=True), event("b", "win"))
    feed.batch(label("b", False))
    outcome, prediction, _ = feed.latest()
    assert outcome.answer["probability"] == prediction.answer["probability"]


def test_without_log_odds_no_answer_has_a_probability(feed):
    feed.batch(event("a", "win", label=True), event("b", "win"))
    feed.batch(label("b", False))
    assert [each.answer.get("probability") for each in feed.latest()] == [None, None, None]


def test_of_an_event_that_is_no_longer_kept_the_features_are_shown(feed, monkeypatch):
    monkeypatch.setattr(recent, "_RECORDS_KEPT", 3)
    feed.batch(event("a", "win", n=1.5))
    feed.batch(*(event(f"e-{n}") for n in range(5)))
    feed.batch(label("a", True))
    assert feed.latest()[0].content == {"text": "win", "features": {"n": 1.5}}


def test_of_an_outcome_that_is_no_step_the_example_that_is_kept_is_shown(feed):
    feed.batch(event("a", "win", n=1.5))
    records = [feed.record(label("a", True))]
    answers = RecentAnswers("predictions")
    answers.note(records, feed.processor.process_batch(records).outputs)
    (outcome,) = answers.latest({}, feed.processor.join.examples.get)
    assert (outcome.answer["label"], outcome.answer["score"]) == (True, 0.0)
    assert outcome.content == {"text": "win", "features": {"n": 1.5}}


def test_a_model_that_reads_texts_itself_leaves_the_text_a_text(monkeypatch):
    feed = Watched(model="auto")
    monkeypatch.setattr(recent, "_RECORDS_KEPT", 0)
    feed.batch(event("a", "win money", n=1.5, label=True))
    assert feed.latest()[0].content == {"text": "win money", "features": {"n": 1.5}}


def test_few_are_kept_and_fewer_bytes_of_large_ones(feed, monkeypatch):
    monkeypatch.setattr(recent, "_RECORDS_BYTES", 1000)
    feed.batch(*(event(f"e-{n}", "x" * 400) for n in range(100)))
    latest = feed.latest()
    assert [each.answer["id"] for each in latest] == [f"e-{n}" for n in range(99, 99 - ANSWERS_KEPT, -1)]
    assert [bool(each.content) for each in latest[:4]] == [True, True, False, False]


def test_dead_letters_and_progress_are_not_shown(feed):
    feed.batch(b"junk")
    assert feed.latest() == []


def test_contents_of_another_schema_are_shown_by_the_mapping():
    feed = Watched(events={"id": "meta.number", "text": "mail.body", "features": "mail.size"})
    feed.batch({"meta": {"number": 7}, "mail": {"body": "win", "size": 3}, "label": True}, {"no": "event"})
    (answer,) = feed.latest()
    assert (answer.answer["id"], answer.content) == ("7", {"text": "win", "features": {"mail.size": 3.0}})
