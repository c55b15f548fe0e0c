"""What the comparison of `auto` with its competitors counts."""

import importlib
import math
from pathlib import Path

import pytest
from river import datasets

from benchmarks.comparison.calibration import FORECASTS_FROM, calibration
from benchmarks.comparison.entries import entry
from benchmarks.comparison.prequential import Condition, judged, wrongs

FOLDER = Path(__file__).parents[2] / "benchmarks"
EXAMPLES = [({"n": n}, n % 2 == 0) for n in range(100)]


class Recorder:
    """Predicts a constant, and remembers in what order it was asked and taught."""

    def __init__(self):
        self.calls = []

    def predict_one(self, x):
        self.calls.append(("predict", x["n"]))
        return True

    def learn_one(self, x, y):
        self.calls.append(("learn", x["n"]))


def calls(condition):
    model = Recorder()
    wrongs(model, EXAMPLES, condition)
    return model.calls


def test_an_event_is_learned_before_the_next_is_predicted():
    assert calls(Condition())[:4] == [("predict", 0), ("learn", 0), ("predict", 1), ("learn", 1)]


def test_a_late_label_is_learned_after_so_many_further_predictions():
    found = calls(Condition(delay=3))
    assert found[:5] == [("predict", 0), ("predict", 1), ("predict", 2), ("predict", 3), ("learn", 0)]


def test_every_event_is_predicted_and_few_are_learned_where_labels_are_few():
    found = calls(Condition(labels=0.1))
    assert sum(call == "predict" for call, _ in found) == 100
    assert 2 <= sum(call == "learn" for call, _ in found) <= 20


def test_which_labels_come_is_the_same_for_everybody():
    assert calls(Condition(labels=0.1)) == calls(Condition(labels=0.1))


def test_shuffled_labels_are_the_same_labels_at_other_events():
    before, after = ([y for _, y in each] for each in (EXAMPLES, Condition(shuffled=True).applied(EXAMPLES)))
    assert sorted(before) == sorted(after)
    assert before != after


def test_a_run_out_of_patience_says_how_far_it_came():
    assert len(wrongs(Recorder(), EXAMPLES, Condition(), patience_seconds=-1)) == 1


def test_a_contestant_that_was_stopped_is_compared_over_the_events_it_came_to():
    stopped = entry("slow", [[True, True]], [[True, False, True, True]])
    assert (stopped.ratio, stopped.events, stopped.is_complete) == (2, 2, False)


def test_mistakes_are_the_mean_over_the_orders():
    assert entry("peer", [[True], [False]], [[True], [True]]).mistakes == pytest.approx(0.5)


def test_probabilities_are_judged_after_so_many_labels():
    examples = [({"n": float(n % 2)}, n % 2 == 0) for n in range(FORECASTS_FROM + 100)]
    found = calibration(1, examples)
    assert found.count == 100
    assert found.expected_calibration_error() < 0.02


class Doubter:
    """Gives True a probability of 0.75 once it has learned something."""

    def __init__(self):
        self.learned = []

    def predict_proba_one(self, _):
        return {False: 0.25, True: 0.75} if self.learned else {}

    def learn_one(self, x, _):
        self.learned.append(x["n"])


def test_a_pass_judges_probabilities_by_the_truth():
    found = judged(Doubter(), EXAMPLES[:3])
    assert found.wrongs == [True, True, False]
    assert found.losses == pytest.approx([math.log(2), -math.log(0.25), -math.log(0.75)])


def test_a_pass_learns_an_event_when_its_label_comes():
    model = Doubter()
    judged(model, EXAMPLES[:10], delay=3)
    assert model.learned == [*range(7)]


@pytest.fixture
def rare(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("comparison.rare")


def test_positive_events_are_left_out_until_they_are_rare(rare):
    found = rare.thinned(EXAMPLES, 0.1, seed=1)
    assert [x["n"] for x, y in found if not y] == [x["n"] for x, y in EXAMPLES if not y]
    assert sum(y for _, y in found) == round(0.1 * 50 / 0.9)
    assert [x["n"] for x, _ in found] == sorted(x["n"] for x, _ in found)


def test_events_are_ranked_by_scores(rare):
    assert rare.ranked([3.0, 1.0, 2.0, 0.0], [True, True, False, False]) == pytest.approx((5 / 6, 0.5))


def test_each_learner_of_auto_is_judged_alone(rare):
    found = rare.learners_of(1, [({"a": n % 10 / 10}, n % 10 == 9) for n in range(200)])
    assert {"auto", "numbers: LogisticRegression", "neighbours: NeighborVote"} <= {*found}
    assert found["neighbours: NeighborVote"].average_precision > 0.5


@pytest.fixture
def anchors(monkeypatch):
    """Compare over one short stream."""
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("comparison.anchors")
    stream = module.Development("phishing", lambda _: [*datasets.Phishing()][:300])
    monkeypatch.setattr(module, "_ALL", [stream])
    return module


def test_what_is_saved_of_others_is_not_measured_again(anchors, tmp_path, monkeypatch):
    saved = tmp_path / "anchors.jsonl"
    anchors.anchors(tmp_path, [], [], math.inf, 1, saved)
    before = anchors.read(saved)
    monkeypatch.setattr(anchors, "forests", lambda _: {"River ARF": None, "River AMF": None})
    anchors.anchors(tmp_path, [], [], math.inf, 2, saved)
    assert before.keys() == anchors.read(saved).keys() == {("phishing", f"River {x}") for x in ("ARF", "AMF")}
    assert [each[:6] for each in before.values()] == [each[:6] for each in anchors.read(saved).values()]


def test_one_that_was_stopped_is_beside_auto_over_the_same_events(anchors, tmp_path):
    saved = tmp_path / "anchors.jsonl"
    anchors.anchors(tmp_path, [], [], -1, 1, saved)
    assert {(each.events, each.auto_mistakes <= 1) for each in anchors.read(saved).values()} == {(1, True)}
