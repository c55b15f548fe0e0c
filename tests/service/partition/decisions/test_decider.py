import pytest

from service.partition.parts.decisions import BUDGET, FIXED, Decider, Rule
from service.partition.parts.thresholds import COST, PRECISION

MINUTE_MS = 60_000


def decider(*rules, half_life=10_000, costs=(0.0, 0.0), has_log_odds=False):
    made = Decider([Rule(*each) for each in rules], half_life, costs)
    made.start(has_log_odds=has_log_odds)
    return made


def decided(made, score, time_ms=0, predicted=True):
    rule = made.decide(predicted, score, time_ms)
    return rule and rule.name


def test_the_first_decision_that_matches_wins():
    made = decider(("high", FIXED, 5.0, True), ("low", FIXED, 1.0, True))
    assert [decided(made, score) for score in (6.0, 5.0, 2.0, 0.5)] == ["high", "high", "low", None]


def test_a_decision_about_the_negative_class_takes_the_score_of_that():
    made = decider(("pass", FIXED, 1.0, False))
    assert [decided(made, score, predicted=score > 0) for score in (-2.0, -0.5, 2.0)] == ["pass", None, None]


def test_a_threshold_is_a_probability_where_scores_are_log_odds():
    made = decider(("block", FIXED, 0.9, True), has_log_odds=True)
    assert [decided(made, score) for score in (2.3, 2.1)] == ["block", None]
    assert made.rules[0].written == b',"decision":"block","threshold":0.9'


def test_there_is_no_threshold_while_too_few_labels_are_known():
    made = decider(("block", PRECISION, 0.95, True))
    for n in range(58):
        made.learn(True, 2.0, True, None)
        assert decided(made, 9.0) is None, n
    for _ in range(42):
        made.learn(True, 2.0, True, None)
    assert decided(made, 2.0) == "block"
    assert made.rules[0].written == b',"decision":"block","threshold":2.0'


def test_thresholds_forget_with_the_half_life():
    made = decider(("block", PRECISION, 0.9, True), half_life=100)
    for _ in range(500):
        made.learn(True, 2.0, True, None)
    assert decided(made, 2.0) == "block"
    for _ in range(500):  # the world has changed
        made.learn(True, 2.0, False, None)
    assert decided(made, 2.0) is None


def test_to_look_a_decision_up_uses_up_no_budget():
    made = decider(("look", BUDGET, 0.0, True, 1, MINUTE_MS))
    assert [made.find(True, 1.0, 0, False).name for _ in range(3)] == ["look"] * 3
    assert [decided(made, 1.0) for _ in range(2)] == ["look", None]
    state = made.state()
    assert made.find(True, 1.0, 0, False) is None
    assert made.find(True, 1.0, MINUTE_MS, False).name == "look"
    assert made.state() == state


def test_a_budget_is_a_bucket_that_fills_with_event_time():
    made = decider(("look", BUDGET, 0.0, True, 2, MINUTE_MS))
    times = (0, 0, 0, 29_999, 30_000, 30_000, 600_000, 600_000, 600_000, 0)
    assert [decided(made, 1.0, time) for time in times] == [
        *("look", "look", None, None, "look", None),
        *("look", "look", None, None),  # no more than it holds; a late event fills nothing
    ]
    assert decided(made, -1.0, 10**9, predicted=False) is None
    restored = decider(("look", BUDGET, 0.0, True, 2, MINUTE_MS))
    restored.restore(made.state())
    assert decided(restored, 1.0, 600_000) is None


@pytest.mark.parametrize("has_log_odds", [True, False])
def test_a_budget_goes_to_what_is_predicted_to_be_of_the_class_and_a_score_of_0_need_not_be(has_log_odds):
    of_positive = decider(("look", BUDGET, 0.0, True, 9, MINUTE_MS), has_log_odds=has_log_odds)
    of_negative = decider(("look", BUDGET, 0.0, False, 9, MINUTE_MS), has_log_odds=has_log_odds)
    for predicted in (True, False):
        assert decided(of_positive, 0.0, predicted=predicted) == ("look" if predicted else None)
        assert decided(of_negative, 0.0, predicted=predicted) == (None if predicted else "look")


@pytest.mark.parametrize("has_log_odds", [True, False])
def test_costs_call_for_a_threshold(has_log_odds):
    made = decider(("act", COST, 0.0, True), costs=(1.0, 9.0), has_log_odds=has_log_odds)
    rule = made.rules[0]
    if has_log_odds:  # Elkan (2001)
        assert rule.shown == pytest.approx(1 / 10)
        return
    assert rule.threshold == 0.0  # as the model decides, until labels tell
    for n in range(100):
        made.learn(False, -1.0, n % 5 == 0, None)
    assert rule.threshold <= -1.0


def test_a_cost_is_counted_and_a_correction_takes_it_back():
    made = decider(("act", FIXED, 1.0, True), costs=(2.0, 7.0))
    made.learn(True, 3.0, False, "act")
    made.learn(True, 0.0, True, None)
    assert (made.cost, made.cost_added) == (9.0, 9.0)
    made.correct(True, 3.0, False, True, "act")
    assert (made.cost, made.cost_added) == (7.0, 9.0)


def test_a_correction_moves_an_event_to_the_other_side_of_its_bin():
    made = decider(("act", PRECISION, 0.5, True))
    made.learn(True, 3.0, False, "act")
    made.correct(True, 3.0, False, True, "act")
    (row,) = made.bins[True].rows()
    assert (row.precision, row.false_positive_rate) == (1.0, None)
    assert (made.rules[0].n_labelled, made.rules[0].n_right) == (1, 1)


def test_a_correction_takes_no_more_from_a_bin_than_is_left_there():
    made = decider(("act", PRECISION, 0.5, True), half_life=100)
    made.learn(True, 3.0, False, None)
    for _ in range(99):
        made.learn(True, 9.0, True, None)
    made.correct(True, 3.0, False, True, None)
    assert made.bins[True].rows()[0].false_positive_rate is None


def test_a_decision_that_is_new_is_looked_for_at_once_and_others_go_on():
    made = decider(("old", PRECISION, 0.5, True))
    for _ in range(200):
        made.learn(True, 2.0, True, "old")
    decided(made, 2.0)
    other = decider(("new", PRECISION, 0.6, True), ("old", PRECISION, 0.5, True))
    other.restore(made.state())
    assert [rule.threshold for rule in other.rules] == [2.0, 2.0]
    assert [rule.n_decided for rule in other.rules] == [0, 1]
