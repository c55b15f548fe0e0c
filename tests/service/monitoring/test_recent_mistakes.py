import pytest

from service.models.explanation import Contribution
from service.monitoring import recent
from service.monitoring.recent import MISTAKES_KEPT, RecentMistakes, spoke_for
from service.partition.examples import LearnedExamples, Step
from tests.service.building import Feed, event, label
from tests.service.web.stage import Stage


class Watched(Feed):
    """A feed whose mistakes are kept."""

    def __init__(self, **given):
        super().__init__(**given)
        self.mistakes = RecentMistakes()
        self.seconds = 0.0
        self.processor.observe = lambda learned: self.mistakes.observe(learned, self.seconds)

    def batch(self, *messages):
        self.processor.process_batch([self.record(message) for message in messages])

    def surest(self, contents=None):
        return self.mistakes.surest(contents or {}, self.processor.join.examples.get)


@pytest.fixture
def feed():
    return Watched()


def test_mistakes_come_with_what_can_be_read_of_their_events_the_surest_first(feed):
    feed.batch(event("right", "win money", label=True), event("sure", "win money now", label=False))
    feed.batch(event("unsure", "see", label=True, n=0.5))
    assert [(each.step.event_id, each.content) for each in feed.surest()] == [
        ("sure", {"text": "win money now"}),
        ("right", {"text": "win money"}),
        ("unsure", {"text": "see", "features": {"n": 0.5}}),
    ]


def test_of_several_classes_a_negative_score_is_unsure():
    scores = {"sure": 1.7, "unsure": -2.2}
    steps = [Step(name, {}, score, "sea", "sky", True, 0) for name, score in scores.items()]
    mistakes = RecentMistakes()
    mistakes.observe(LearnedExamples(steps), 0.0)
    assert [each.step.event_id for each in mistakes.surest({}, lambda _: None)] == ["sure", "unsure"]


def test_what_a_record_says_is_kept_once_somebody_has_looked(feed):
    feed.batch(event("a", "Win!", label=True))
    assert feed.surest({"a": {"text": "Win!"}})[0].content == {"text": "Win!"}
    assert feed.surest()[0].content == {"text": "Win!"}


def test_a_correction_makes_a_mistake_and_takes_one_away(feed):
    feed.batch(event("a", "win", label=True), event("b", "win", label=True))
    assert [each.step.event_id for each in feed.surest()] == ["a"]
    feed.batch(label("a", False), label("b", False))
    (mistake,) = feed.surest()
    assert (mistake.step.event_id, mistake.step.truth, mistake.content) == ("b", False, {"text": "win"})


def test_of_many_mistakes_the_latest_are_kept(feed):
    feed.batch(*(event(f"e-{n}", f"w{n}", label=True) for n in range(3)))
    for n in range(2 * MISTAKES_KEPT):
        feed.batch(event(f"m-{n}", f"w{n}", label=n % 2 == 0), event(f"n-{n}", f"w{n}", label=n % 2 == 1))
    kept = {each.step.event_id for each in feed.surest()}
    assert len(kept) <= MISTAKES_KEPT
    assert "e-0" not in kept


def test_of_a_batch_of_mistakes_few_are_kept(feed):
    feed.batch(*(event(f"e-{n}", "x", label=n % 2 == 0) for n in range(500)))
    assert len(feed.surest()) == 12


def test_of_large_batches_ten_a_second_are_looked_at(feed):
    for n in range(20):
        feed.seconds = n / 32
        feed.batch(*(event(f"e-{n}-{k}", "x", label=k % 2 == 0) for k in range(100)))
    assert {each.step.event_id.split("-")[1] for each in feed.surest()} == {"0", "4", "8", "12", "16"}


def test_few_are_kept_of_huge_events(feed, monkeypatch):
    monkeypatch.setattr(recent, "_MOST_BYTES", 3 * 128 * 100)
    for n in range(6):
        feed.batch(event(f"e-{n}", " ".join(f"w{n}x{k}" for k in range(100)), label=True))
    assert len(feed.surest()) <= 3


def test_hashed_features_are_shown_by_their_numbers():
    feed = Watched(hash_bits=10)
    feed.batch(event("a", "", label=True, n=1.5))
    ((name, value),) = feed.surest()[0].content["features"].items()
    assert (name[0], value) == ("#", 1.5)


def test_to_a_prediction_speak_the_terms_of_its_sign():
    found = [Contribution("win", 1.0, None, 2.0), Contribution("see", 1.0, None, -1.0)]
    assert [each.feature for each in spoke_for(True, found)] == ["win"]
    assert [each.feature for each in spoke_for(False, found)] == ["see"]
    assert [each.feature for each in spoke_for("ham", found)] == ["win"]


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


def test_where_contents_are_not_shown_no_mistakes_are():
    stage = Stage(http_show_events="no")
    stage(event("a", "win", label=True))
    with stage.served() as client:
        assert client.get("/state").json()["mistakes"] == []


def test_a_mixture_is_told_by_what_its_features_added():
    stage = Stage(model="auto")
    for n in range(40):
        stage(event(f"e-{n}", "win money" if n % 2 else "see you", label=n % 2 == 1))
    with stage.served() as client:
        told = client.get("/state").json()
    by_name = {term["name"]: (term["plus"], term["minus"]) for term in told["terms"]}
    assert told["terms_events"] == 20
    assert by_name["text: win"][0] > 0 > by_name["text: see"][1]
