"""The latest answers and mistakes of a partition, with what is known of their events."""

import pytest

from service.models.explanation import Contribution
from service.monitoring import recent
from service.monitoring.recent import ANSWERS_KEPT, MISTAKES_KEPT, RecentAnswers, spoke_for
from tests.service.building import Feed, event, label, learned
from tests.service.web.stage import Stage


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


@pytest.mark.parametrize(("model", "name"), [("perceptron", "score"), ("coin-betting", "probability")])
def test_an_outcome_has_the_score_and_the_probability_of_its_prediction(model, name):
    feed = Watched(model=model)
    feed.batch(event("a", "win", label=True), event("b", "win"))
    feed.batch(label("b", False))
    outcome, prediction, _ = feed.latest()
    assert outcome.answer["mistake"] is True
    assert outcome.answer[name] == prediction.answer[name] != 0


def test_of_an_event_that_is_no_longer_kept_the_features_are_shown(feed, monkeypatch):
    monkeypatch.setattr(recent, "_RECORDS_KEPT", 3)
    feed.batch(event("a", "win", n=1.5))
    feed.batch(*(event(f"e-{n}") for n in range(5)))
    feed.batch(label("a", True))
    assert feed.latest()[0].content == {"text": "win", "features": {"n": 1.5}}


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


def test_contents_of_another_schema_are_shown_by_the_mapping():
    feed = Watched(events={"id": "meta.number", "text": "mail.body", "features": "mail.size"})
    feed.batch({"meta": {"number": 7}, "mail": {"body": "win", "size": 3}, "label": True}, {"no": "event"})
    (answer,) = feed.latest()
    assert (answer.answer["id"], answer.content) == ("7", {"text": "win", "features": {"mail.size": 3.0}})


class WatchedMistakes(Feed):
    """A feed whose mistakes are kept."""

    def __init__(self, **given):
        super().__init__(**given)
        self.mistakes = RecentAnswers("predictions")
        self.seconds = 0.0
        self.processor.observe = lambda learned: self.mistakes.observe(learned, self.seconds)

    def batch(self, *messages):
        self.processor.process_batch([self.record(message) for message in messages])

    def surest(self, contents=None):
        return self.mistakes.surest(contents or {}, self.processor.join.examples.get)


@pytest.fixture
def mistaken():
    return WatchedMistakes()


def test_mistakes_come_with_what_can_be_read_of_their_events_the_surest_first(mistaken):
    mistaken.batch(event("right", "win money", label=True), event("sure", "win money now", label=False))
    mistaken.batch(event("unsure", "see", label=True, n=0.5))
    assert [(each.step.event_id, each.content) for each in mistaken.surest()] == [
        ("sure", {"text": "win money now"}),
        ("right", {"text": "win money"}),
        ("unsure", {"text": "see", "features": {"n": 0.5}}),
    ]


def test_of_several_classes_a_negative_score_is_unsure():
    mistakes = RecentAnswers("predictions")
    mistakes.observe(learned(("sea", "sky", -2.2), ("sea", "sky", 1.7)), 0.0)
    assert [each.step.score for each in mistakes.surest({}, lambda _: None)] == [1.7, -2.2]


def test_what_a_record_says_is_kept_once_somebody_has_looked(mistaken):
    mistaken.batch(event("a", "Win!", label=True))
    assert mistaken.surest({"a": {"text": "Win!"}})[0].content == {"text": "Win!"}
    assert mistaken.surest()[0].content == {"text": "Win!"}


def test_a_correction_makes_a_mistake_and_takes_one_away(mistaken):
    mistaken.batch(event("a", "win", label=True), event("b", "win", label=True))
    assert [each.step.event_id for each in mistaken.surest()] == ["a"]
    mistaken.batch(label("a", False), label("b", False))
    (mistake,) = mistaken.surest()
    assert (mistake.step.event_id, mistake.step.truth, mistake.content) == ("b", False, {"text": "win"})


def test_of_many_mistakes_the_latest_are_kept(mistaken):
    mistaken.batch(*(event(f"e-{n}", f"w{n}", label=True) for n in range(3)))
    for n in range(2 * MISTAKES_KEPT):
        mistaken.batch(event(f"m-{n}", f"w{n}", label=n % 2 == 0), event(f"n-{n}", f"w{n}", label=n % 2 == 1))
    kept = {each.step.event_id for each in mistaken.surest()}
    assert len(kept) <= MISTAKES_KEPT
    assert "e-0" not in kept


def test_of_a_batch_of_mistakes_few_are_kept(mistaken):
    mistaken.batch(*(event(f"e-{n}", "x", label=n % 2 == 0) for n in range(500)))
    assert len(mistaken.surest()) == 12


def test_of_large_batches_ten_a_second_are_looked_at(mistaken):
    for n in range(20):
        mistaken.seconds = n / 32
        mistaken.batch(*(event(f"e-{n}-{k}", "x", label=k % 2 == 0) for k in range(100)))
    assert {each.step.event_id.split("-")[1] for each in mistaken.surest()} == {"0", "4", "8", "12", "16"}


def test_few_are_kept_of_huge_events(mistaken, monkeypatch):
    monkeypatch.setattr(recent, "_MOST_BYTES", 3 * 128 * 100)
    for n in range(6):
        mistaken.batch(event(f"e-{n}", " ".join(f"w{n}x{k}" for k in range(100)), label=True))
    assert len(mistaken.surest()) <= 3


def test_hashed_features_are_shown_by_their_numbers():
    mistaken = WatchedMistakes(hash_bits=10)
    mistaken.batch(event("a", "", label=True, n=1.5))
    ((name, value),) = mistaken.surest()[0].content["features"].items()
    assert (name[0], value) == ("#", 1.5)


def test_to_a_prediction_speak_the_terms_of_its_sign():
    found = [Contribution("win", 1.0, None, 2.0), Contribution("see", 1.0, None, -1.0)]
    spoken = {predicted: spoke_for(predicted, found)[0].feature for predicted in (True, False, "ham")}
    assert spoken == {True: "win", False: "see", "ham": "win"}


@pytest.mark.parametrize("model", ["logistic-regression", "auto"])
def test_the_page_is_told_which_words_spoke_for_a_mistake(model):
    stage = Stage(model=model)
    for n in range(40):
        stage(event(f"e-{n}", "win money" if n % 2 else "see you", label=n % 2 == 1))
    stage(event("wrong", "win money", label=False))
    with stage.served() as client:
        told = client.get("/state").json()["mistakes"]
    (mistake,) = [each for each in told if each["id"] == "wrong"]
    assert (mistake["predicted"], mistake["truth"], mistake["text"]) == (True, False, "win money")
    named = [name for name, _ in mistake["terms"]]
    assert {"logistic-regression": "text=win", "auto": "text: win"}[model] in named


def test_a_mixture_is_told_by_what_its_features_added():
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


def test_of_several_classes_each_has_the_terms_of_its_fields():
    stage = Stage(model="auto", classes="ham,spam,news")
    for n in range(60):
        words = ("see you", "win money", "today in town")[n % 3]
        stage(event(f"e-{n}", words, label=("ham", "spam", "news")[n % 3], lang=("en", "de")[n % 2]))
    with stage.served() as client:
        told = client.get("/state").json()["terms"]
    assert {each["class"] for each in told} == {"ham", "spam", "news"}
    for each in told:
        fields = {field["name"]: field["features"] for field in each["fields"]}
        assert {name for name, _ in fields["lang"]} <= {"lang: en", "lang: de"}
        assert next(iter(fields)) == "text"
