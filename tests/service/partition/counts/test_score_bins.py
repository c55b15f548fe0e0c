from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.partition.examples import count_numbers
from service.partition.parts.calibration import ScoreBins, _rank

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
def test_a_higher_score_is_never_in_a_lowerplace(one, other):
    low, high = sorted([one, other])
    assert place(low) <= place(high)


@given(st.floats(1e-300, 1e300), st.floats(1.1251, 2.0), st.sampled_from([1, -1]))
def test_scores_that_differ_by_more_than_an_eighth_are_in_different_bins(score, factor, sign):
    assert place(sign * score) != place(sign * score * factor)


def test_both_zeros_share_a_bin():
    assert place(0.0) == place(-0.0) > place(-5e-324)


@given(EXAMPLES)
def test_of_scores_that_no_bin_shares_the_area_is_exact(examples):
    assert counted(examples).pairs().auc() == pytest.approx(area(examples))


@given(EXAMPLES)
def test_they_come_back_from_their_state(examples):
    bins = counted(examples)
    assert ScoreBins.from_state(bins.state()) == bins


def test_without_both_classes_there_is_no_area():
    assert counted([(1.0, True), (2.0, True)]).pairs().auc() is None
