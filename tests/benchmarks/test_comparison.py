"""What the comparison of `auto` with its competitors counts."""

import pytest

from benchmarks.comparison.calibration import FORECASTS_FROM, calibration
from benchmarks.comparison.entries import entry
from benchmarks.comparison.prequential import Condition, wrongs

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
