import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.partition.parts.calibration import BINS, Calibration, logistic_loss

predictions = st.lists(st.tuples(st.floats(-30, 30), st.booleans()), min_size=1, max_size=60)


def calibration_of(pairs):
    calibration = Calibration()
    for log_odds, correct in pairs:
        calibration.add(log_odds, correct=correct)
    return calibration


def probability(log_odds):
    return 1 / (1 + math.exp(-log_odds))


@given(predictions)
def test_the_calibration_error_is_the_weighted_gap_between_accuracy_and_probability(pairs):
    bins = {}
    for log_odds, correct in pairs:
        bins.setdefault(min(int(probability(log_odds) * 15), 14), []).append((probability(log_odds), correct))
    gaps = [abs(sum(p for p, _ in each) - sum(correct for _, correct in each)) for each in bins.values()]
    error = calibration_of(pairs).expected_calibration_error()
    assert error == pytest.approx(sum(gaps) / len(pairs), abs=1e-9)


@given(predictions)
def test_the_log_loss_is_the_mean_surprise(pairs):
    surprises = [-math.log(probability(z if correct else -z)) for z, correct in pairs]
    assert calibration_of(pairs).log_loss() == pytest.approx(sum(surprises) / len(pairs), rel=1e-9, abs=1e-9)


@given(predictions)
def test_each_prediction_is_in_the_bin_of_its_probability(pairs):
    bins = calibration_of(pairs).bins()
    assert sum(each.predictions for each in bins) == len(pairs)
    for each in bins:
        assert each.low - 1e-9 <= each.mean_probability <= each.low + 1 / BINS + 1e-9


@pytest.mark.parametrize(("stretch", "low", "high"), [(1.0, 0.0, 0.02), (3.0, 0.1, 0.3), (0.2, 0.1, 0.3)])
def test_honest_probabilities_have_a_small_error_exaggerated_and_timid_ones_a_large_one(stretch, low, high):
    rng = random.Random(3)
    log_odds = [rng.gauss(0, 2) for _ in range(20_000)]
    pairs = [(stretch * z, rng.random() < probability(z)) for z in log_odds]
    assert low <= calibration_of(pairs).expected_calibration_error() < high


@pytest.mark.parametrize("log_odds", [1e100, -1e100, 800.0, 0.0])
@pytest.mark.parametrize("correct", [True, False])
def test_the_surest_mistake_has_a_finite_loss(log_odds, correct):
    calibration = calibration_of([(log_odds, correct)])
    assert math.isfinite(calibration.log_loss())
    assert 0 <= calibration.expected_calibration_error() <= 1


def test_a_mistake_costs_its_log_odds_more_than_a_hit():
    assert logistic_loss(-5.0) == pytest.approx(logistic_loss(5.0) + 5.0)


def test_without_predictions_nothing_is_said():
    calibration = Calibration()
    assert (calibration.expected_calibration_error(), calibration.log_loss(), calibration.bins()) == (
        None,
        None,
        [],
    )


@given(predictions)
def test_it_comes_back_from_its_state(pairs):
    calibration = calibration_of(pairs)
    assert Calibration.from_state(calibration.state()) == calibration


@given(predictions)
def test_a_copy_is_left_alone_by_later_counting(pairs):
    calibration = Calibration()
    copy = calibration.copy()
    for log_odds, correct in pairs:
        calibration.add(log_odds, correct=correct)
    assert copy == Calibration()
