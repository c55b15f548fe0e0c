import json
import math
import random

import pytest

from perceptron_core.formats.packed import pack, unpack
from service.partition.parts.decisions import BUDGET, FIXED, Decisions, Rule
from service.partition.parts.thresholds import COST, FALSE_POSITIVES, NEVER, PRECISION, RECALL

MINUTE_MS = 60_000


def decider(*rules, half_life=10_000, costs=(0.0, 0.0), has_log_odds=False, is_calibrated=False):
    made = Decisions([Rule(*each) for each in rules], half_life, costs)
    made.start(has_log_odds=has_log_odds, is_calibrated=is_calibrated)
    return made


def look(most, period_ms=MINUTE_MS, truth=True):
    return "look", BUDGET, 0.0, truth, 0.8, (most, period_ms)


def decided(made, score, time_ms=0, predicted=True):
    rule = made.decide(predicted, score, time_ms, True)
    return rule and rule.name


def test_first_decision_that_matches_wins():
    made = decider(("high", FIXED, 5.0, True), ("low", FIXED, 1.0, True))
    assert [decided(made, score) for score in (6.0, 5.0, 2.0, 0.5)] == ["high", "high", "low", None]


def test_decision_about_the_negative_class_uses_its_score():
    made = decider(("pass", FIXED, 1.0, False))
    assert [decided(made, score, predicted=score > 0) for score in (-2.0, -0.5, 2.0)] == ["pass", None, None]


def test_threshold_is_a_probability_where_scores_are_log_odds():
    made = decider(("block", FIXED, 0.9, True), has_log_odds=True)
    assert [decided(made, score) for score in (2.3, 2.1)] == ["block", None]
    assert made.rules[0].written == b',"decision":"block","threshold":0.9'


def test_precision_of_later_decision_leaves_out_earlier_ones_events():
    made = decider(("block", PRECISION, 0.9, True), ("challenge", PRECISION, 0.8, True))
    for n in range(1000):
        score = 1.0 + n % 3  # 1 in 6, 2 in 3 and all are of the class
        made.learn(True, score, n % 18 < (0, 3, 12, 18)[int(score)], None)
    assert [decided(made, score) for score in (3.0, 2.0, 1.0)] == ["block", None, None]
    assert "the best bound is 0.6" in made.why_undecided(made.rules[1])


def test_precision_after_budget_leaves_out_the_events_it_took():
    made = decider(look(100), ("block", PRECISION, 0.7, True))
    for n in range(1000):  # half are taken, all of the class; of the others, 3 in 5 are
        made.learn(True, 2.0, n % 2 == 1 or n % 10 < 5, (None, "look")[n % 2])
    made.correct(True, 2.0, True, False, "look")
    assert decided(made, 2.0, 9) == "look"
    assert made.rules[1].threshold == NEVER
    assert "the best bound is 0.58" in made.why_undecided(made.rules[1])


def test_restored_precision_after_budget_searches_the_same_threshold():
    made, other = (decider(look(100), ("block", PRECISION, level, True)) for level in (0.8, 0.5))
    for n in range(200):
        made.learn(True, 2.0, n % 2 == 1 or n % 10 < 5, (None, "look")[n % 2])
    other.restore(unpack(pack(made.state())))
    assert other.rules[1].threshold == 2.0
    other = decider(look(100), ("block", PRECISION, 0.7, True))
    other.restore(unpack(pack(made.state())))
    assert other.rules[1].threshold == NEVER


@pytest.mark.parametrize(("confidence", "n_labels"), [(0.5, 20), (0.8, 32), (0.95, 59)])
def test_threshold_needs_enough_labels(confidence, n_labels):
    made = decider(("block", PRECISION, 0.95, True, confidence))
    for n in range(100):
        assert decided(made, 9.0) is None, n
        made.learn(True, 2.0, True, None)
        made.search()
        if n + 1 == n_labels:
            break
    assert decided(made, 2.0) == "block"
    assert made.rules[0].written == b',"decision":"block","threshold":2.0'


def test_calibrated_probabilities_make_up_for_labels():
    made = decider(("block", PRECISION, 0.95, True), has_log_odds=True, is_calibrated=True)
    for n in range(100):  # 20 of them with a probability of 0.998
        made.learn(True, 6.0 if n % 5 == 0 else -2.0, n % 5 == 0, None)
    assert decided(made, 6.0) == "block"
    bare = decider(("block", PRECISION, 0.95, True), has_log_odds=True)
    bare.restore(made.state())
    bare.search()
    assert decided(bare, 6.0) is None


@pytest.mark.parametrize("goal", [(PRECISION, 0.9), (FALSE_POSITIVES, 0.05)])
def test_old_labels_count_little_once_decisions_are_wrong_too_often(goal):
    made = decider(("block", *goal, True), half_life=100_000)
    for n in range(4000):
        made.learn(n % 2 == 0, 2.0 if n % 2 == 0 else -2.0, n % 2 == 0, "block" if n % 2 == 0 else None)
    assert decided(made, 2.0) == "block"
    for n in range(100):
        made.learn(True, 2.0, n % 2 == 0, "block" if decided(made, 2.0) else None)
    assert decided(made, 2.0) is None


def test_old_labels_decay_with_the_half_life():
    made = decider(("block", PRECISION, 0.9, True), half_life=100)
    for _ in range(500):
        made.learn(True, 2.0, True, None)
    assert decided(made, 2.0) == "block"
    for _ in range(500):  # the world has changed
        made.learn(True, 2.0, False, None)
    assert decided(made, 2.0) is None


def test_looking_up_a_decision_spends_no_budget():
    made = decider(look(1))
    assert [made.decision_for(True, 1.0, 0, False).name for _ in range(3)] == ["look"] * 3
    assert [decided(made, 1.0) for _ in range(2)] == ["look", None]
    state = made.state()
    assert made.decision_for(True, 1.0, 0, False) is None
    assert made.decision_for(True, 9.0, MINUTE_MS, False).name == "look"
    assert made.state() == state
    assert decided(made, 9.0, MINUTE_MS) == "look"


def test_sufficient_budget_decides_all():
    made = decider(look(1000))
    assert [decided(made, 1.0, n * 600) for n in range(500)] == ["look"] * 500


def test_no_period_decides_more_than_its_budget():
    made = decider(look(5))
    for n in range(3000):  # 100 a minute
        decided(made, float(n), n * 600)
        assert made.rules[0].spent.n_used <= 5
    assert made.rules[0].n_decided == 5 * 30


def test_budget_is_spent_on_the_highest_scores_of_a_period():
    made, draw = decider(look(10)), random.Random(5)
    found, periods = [], [[draw.random() for _ in range(1000)] for _ in range(20)]
    for period, scores in enumerate(periods):
        times = [period * MINUTE_MS + n * 60 for n in range(1000)]
        found += [s for s, time in zip(scores, times, strict=True) if decided(made, s, time)]
    assert 150 <= len(found) <= 200
    best = {score for scores in periods for score in sorted(scores)[-20:]}
    assert sum(score in best for score in found) > 0.75 * len(found)


def test_budget_is_renewed_by_the_period_not_by_late_events():
    made = decider(look(1))
    times = 0, 1, 119_000, 119_500, 118_000
    assert [decided(made, 1.0, time) for time in times] == ["look", None, "look", None, None]
    assert made.rules[0].spent.is_exhausted()


def test_restored_budget_decides_as_the_original():
    made, restored = (decider(look(3)) for _ in range(2))
    draw = random.Random(1)
    for n in range(150):
        decided(made, draw.gauss(0, 1), n * 400)
    restored.restore(unpack(pack(made.state())))
    assert pack(restored.state()) == pack(made.state())
    for n in range(150, 600):
        score = draw.gauss(0, 1)
        assert decided(restored, score, n * 400) == decided(made, score, n * 400)
        assert restored.rules[0].written == made.rules[0].written


def test_budget_of_the_period_continues_at_another_rate():
    made, *others = decider(look(5)), decider(look(4)), decider(look(2))
    assert [decided(made, float(n)) for n in range(3)] == ["look"] * 3
    for other, looks_again in zip(others, ("look", None), strict=True):
        other.restore(unpack(pack(made.state())))
        found = [decided(other, score, time) for score, time in ((3.0, 0), (4.0, 0), (5.0, MINUTE_MS))]
        assert found == [looks_again, None, "look"]


def test_budget_is_spent_on_rare_class_that_is_never_predicted():
    made, draw, found = decider(look(10), has_log_odds=True), random.Random(5), []
    for n in range(20_000):  # 1,000 a minute, 14 of them of the class
        is_rare = draw.random() < 0.014
        name = decided(made, draw.gauss(-2 if is_rare else -5, 0.5), n * 60, predicted=False)
        found += [is_rare] if name else []
    assert 150 <= len(found) <= 200
    assert sum(found) > 0.85 * len(found)


def test_budget_is_not_spent_below_the_threshold_of_equal_costs():
    made = decider(look(9), costs=(3.0, 3.0), has_log_odds=True)
    assert [decided(made, score) for score in (-1.0, 1.0)] == [None, "look"]


def test_budget_of_one_of_several_classes_needs_its_prediction():
    made = decider(look(9, truth="spam"))
    assert [decided(made, -1.0, predicted=each) for each in ("ham", "spam")] == [None, "look"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state["rules"][0].__setitem__(1, math.nan),
        lambda state: state["rules"][0].__setitem__(4, -1),
        lambda state: state["rules"][0].__setitem__(5, math.inf),
        lambda state: state["rules"][1][-1].__setitem__(0, -1),
        lambda state: state["rules"][1][-1].__setitem__(1, math.nan),
        lambda state: state["bins"][0][-1].append([math.nan, 1.0, 1.0]),
        lambda state: state["bins"][0][-1].append([-99.0, 1.0, 1.0]),
        lambda state: state["bins"][0][-1].append([99.0, -1.0, 1.0]),
        lambda state: state["counts"].__setitem__(2, -1),
    ],
)
def test_impossible_state_is_rejected(damage):
    made, other = (decider(("block", PRECISION, 0.9, True), look(3)) for _ in range(2))
    for n in range(150):
        made.learn(True, float(n % 7), True, decided(made, float(n % 7), n))
    state = json.loads(json.dumps(made.state()))
    damage(state)
    with pytest.raises(ValueError, match="decisions"):
        other.restore(state)


@pytest.mark.parametrize("has_log_odds", [True, False])
def test_costs_determine_a_threshold(has_log_odds):
    made = decider(("act", COST, 0.0, True), costs=(1.0, 9.0), has_log_odds=has_log_odds)
    rule = made.rules[0]
    if has_log_odds:  # Elkan (2001)
        assert rule.shown == pytest.approx(1 / 10)
        return
    assert rule.threshold == 0.0  # as the model decides, until labels tell
    for n in range(100):
        made.learn(False, -1.0, n % 5 == 0, None)
    assert rule.threshold <= -1.0


def test_cost_is_counted_and_reverted_by_a_correction():
    made = decider(("act", FIXED, 1.0, True), costs=(2.0, 7.0))
    made.learn(True, 3.0, False, "act")
    made.learn(True, 0.0, True, None)
    assert (made.cost, made.cost_added) == (9.0, 9.0)
    made.correct(True, 3.0, False, True, "act")
    assert (made.cost, made.cost_added) == (7.0, 9.0)


def test_counted_cost_stays_within_what_a_restart_reads():
    made = decider(("act", FIXED, 1.0, True), costs=(1e12, 1e12))
    made.restore(made.state() | {"cost": [3e18, 0.0]})
    assert made.counts() == Decisions.counts_of(made.state()) == {"decided": 0, "cost": 10**18}


def test_correction_moves_an_event_within_its_bin():
    made = decider(("act", PRECISION, 0.5, True))
    made.learn(True, 3.0, False, "act")
    made.correct(True, 3.0, False, True, "act")
    (row,) = made.bins[True].rows()
    assert (row.precision, row.false_positive_rate) == (1.0, None)
    assert (made.rules[0].n_labelled, made.rules[0].n_right) == (1, 1)


def test_correction_removes_no_more_than_its_bin_holds():
    made = decider(("act", PRECISION, 0.5, True), half_life=100)
    made.learn(True, 3.0, False, None)
    for _ in range(99):
        made.learn(True, 9.0, True, None)
    made.correct(True, 3.0, False, True, None)
    assert made.bins[True].rows()[0].false_positive_rate is None


def test_new_decision_is_searched_at_once_while_others_continue():
    made = decider(("old", PRECISION, 0.5, True))
    for _ in range(200):
        made.learn(True, 2.0, True, "old")
    decided(made, 2.0)
    other = decider(("old", PRECISION, 0.5, True), ("new", RECALL, 0.6, True))
    other.restore(made.state())
    assert [rule.threshold for rule in other.rules] == [2.0, 2.0]
    assert [rule.n_decided for rule in other.rules] == [1, 0]
