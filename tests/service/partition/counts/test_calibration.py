import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.partition.examples import count_numbers
from service.partition.parts.quality import BINS, Calibration, ScoreBins, _rank

predictions = st.lists(st.tuples(st.floats(-30, 30), st.booleans()), min_size=1, max_size=60)


def calibration_of(pairs):
    calibration = Calibration()
    for log_odds, correct in pairs:
        calibration.add(log_odds, correct=correct)
    return calibration


def probability(log_odds):
    return 1 / (1 + math.exp(-log_odds))


@given(predictions)
def test_calibration_error_is_the_weighted_gap_of_accuracy_and_probability(pairs):
    bins = {}
    for log_odds, correct in pairs:
        bins.setdefault(min(int(probability(log_odds) * 15), 14), []).append((probability(log_odds), correct))
    gaps = [abs(sum(p for p, _ in each) - sum(correct for _, correct in each)) for each in bins.values()]
    error = calibration_of(pairs).expected_calibration_error()
    assert error == pytest.approx(sum(gaps) / len(pairs), abs=1e-9)


@given(predictions)
def test_log_loss_is_the_mean_surprise(pairs):
    surprises = [-math.log(probability(z if correct else -z)) for z, correct in pairs]
    assert calibration_of(pairs).log_loss() == pytest.approx(sum(surprises) / len(pairs), rel=1e-9, abs=1e-9)


@given(predictions)
def test_each_prediction_is_in_the_bin_of_its_probability(pairs):
    bins = calibration_of(pairs).bins()
    assert sum(each.predictions for each in bins) == len(pairs)
    for each in bins:
        assert each.low - 1e-9 <= each.mean_probability <= each.low + 1 / BINS + 1e-9


@pytest.mark.parametrize("log_odds", [1e100, -1e100, 800.0, 0.0])
@pytest.mark.parametrize("correct", [True, False])
def test_most_confident_mistake_has_a_finite_loss(log_odds, correct):
    calibration = calibration_of([(log_odds, correct)])
    assert math.isfinite(calibration.log_loss())
    assert 0 <= calibration.expected_calibration_error() <= 1


def test_calibration_without_predictions_has_no_values():
    calibration = Calibration()
    assert (calibration.expected_calibration_error(), calibration.log_loss(), calibration.bins()) == (
        None,
        None,
        [],
    )


FINITE = st.floats(allow_nan=False, allow_infinity=False)
EXAMPLES = st.lists(st.tuples(st.integers(-15, 15).map(float), st.booleans()), max_size=60)


def counted(examples):
    bins = ScoreBins()
    bins.add_all(
        positives=[score for score, truth in examples if truth],
        negatives=[score for score, truth in examples if not truth],
    )
    return bins


def place(score):
    ((number, _),) = count_numbers(array("d", [score]))
    return _rank(number)


def area(examples):
    positives = [score for score, truth in examples if truth]
    negatives = [score for score, truth in examples if not truth]
    pairs = [(p > n) + (p == n) / 2 for p in positives for n in negatives]
    return sum(pairs) / len(pairs) if pairs else None


@given(FINITE, FINITE)
def test_higher_score_is_never_in_a_lower_bin(one, other):
    low, high = sorted([one, other])
    assert place(low) <= place(high)


@given(st.floats(1e-300, 1e300), st.floats(1.1251, 2.0), st.sampled_from([1, -1]))
def test_scores_an_eighth_apart_are_in_different_bins(score, factor, sign):
    assert place(sign * score) != place(sign * score * factor)


def test_both_zeros_share_a_bin():
    assert place(0.0) == place(-0.0) > place(-5e-324)


@given(EXAMPLES)
def test_area_is_exact_if_no_bin_mixes_classes(examples):
    assert counted(examples).pairs().auc() == pytest.approx(area(examples))


def test_without_both_classes_there_is_no_area():
    assert counted([(1.0, True), (2.0, True)]).pairs().auc() is None
