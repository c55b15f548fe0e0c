import struct
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, betaincinv, expit, gammaln

from service.partition.parts.thresholds import (
    COST,
    FALSE_POSITIVES,
    NEVER,
    PRECISION,
    RECALL,
    ClassBins,
    bound_of,
    log_gamma,
    surely_above,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
examples = st.lists(st.tuples(st.floats(-9, 9), st.booleans()), max_size=300)


def filled(rows):
    bins = ClassBins(True)
    for score, is_of_class in rows:
        bins.add(score, is_of_class)
    return bins


def decided(rows, threshold):
    """Return how many of the class and of the others a threshold decides, and how many there are."""
    above = [is_of_class for score, is_of_class in rows if score >= threshold]
    return sum(above), len(above) - sum(above), sum(own for _, own in rows), len(rows)


@given(finite)
def test_width_of_a_bin_is_an_eighth_of_its_score(score):
    (row,) = filled([(score, True)]).rows()
    assert row.threshold <= score
    number = struct.unpack("<q", struct.pack("<d", score + 0.0))[0] >> 49
    assert struct.unpack("<q", struct.pack("<d", row.threshold + 0.0))[0] >> 49 == number


@given(examples)
def test_rows_describe_each_thresholds_decisions(rows):
    found = filled(rows).rows()
    assert all(low.threshold < high.threshold for low, high in pairwise(found))
    for row in found:
        own, others, all_own, n = decided(rows, row.threshold)
        assert row.precision == own / (own + others)
        assert row.decided_ratio == (own + others) / n
        assert row.recall == (own / all_own if all_own else None)
        assert row.false_positive_rate == (others / (n - all_own) if n - all_own else None)


def is_surely(k, n, share, confidence):
    return surely_above(k, n - k + 1, share, confidence)


@given(examples, st.sampled_from([0.1, 0.3, 0.5, 0.8]), st.sampled_from([0.5, 0.8, 0.95]))
def test_threshold_is_the_first_whose_bound_holds(rows, level, confidence):
    bins, found = filled(rows), {}
    for row in bins.rows():
        own, others, all_own, n = decided(rows, row.threshold)
        found[row.threshold] = (
            is_surely(own, own + others, level, confidence),
            is_surely(n - all_own - others, n - all_own, 1.0 - level, confidence),
            is_surely(own, all_own, level, confidence),
        )
    for goal, best in ((PRECISION, min), (FALSE_POSITIVES, min), (RECALL, max)):
        holding = [threshold for threshold, holds in found.items() if holds[goal]]
        assert bins.find_threshold(goal, level, confidence) == best(holding, default=NEVER)


@given(examples)
def test_cheapest_threshold_costs_the_least(rows):
    bins = filled(rows)

    def cost(threshold):
        own, others, all_own, _ = decided(rows, threshold)
        return others + 5 * (all_own - own)

    found = bins.find_threshold(COST, 0.0, 0.8, 1.0, 5.0)
    assert cost(found) == min([cost(NEVER), *(cost(row.threshold) for row in bins.rows())])


def test_unpredicted_class_has_the_lowest_score():
    bins = ClassBins("b")
    assert (bins.own_score("b", 2.0), bins.own_score("a", 2.0)) == (2.0, -inf)
    bins.add(-inf, is_of_class=True)
    bins.add(2.0, is_of_class=True)
    (row,) = bins.rows()
    assert (row.threshold, row.recall) == (2.0, 0.5)


@pytest.mark.parametrize("score", [3.0, -3.0, 0.0])
def test_label_weights_decay_until_a_bin_is_dropped(score):
    bins = filled([(score, True)])
    bins.fade(0.02)
    assert len(bins.rows()) == 1
    bins.fade(0.02)
    assert not bins.rows()


@given(examples)
def test_restored_bins_equal_the_saved_bins(rows):
    bins, restored = filled(rows), ClassBins(True)
    restored.restore(bins.state())
    assert (restored.state(), restored.rows()) == (bins.state(), bins.rows())


@given(
    st.lists(st.tuples(st.floats(0.01, 9), st.booleans()), min_size=1, max_size=300),
    st.sampled_from([0.5, 0.8, 0.95]),
)
def test_calibrated_probabilities_count_as_fifty_labels(rows, level):
    bins, found = filled(rows), []
    bins.is_calibrated = True
    middles = {row.threshold: (row.threshold + end_of(row.threshold)) / 2 for row in bins.rows()}
    for low in middles:
        own, others, _, _ = decided(rows, low)
        chances = [
            expit(middles[max(each for each in middles if each <= score)])
            for score, _ in rows
            if score >= low
        ]
        mean = min(sum(chances) / len(chances), 0.999)
        found.append((low, betainc(own + 50 * mean, others + 50 * (1 - mean), level)))
    if all(abs(chance - 0.2) > 1e-6 for _, chance in found):
        lowest = min((low for low, c in found if c < 0.2), default=NEVER)
        assert bins.find_threshold(PRECISION, level, 0.8) == lowest


def end_of(low):
    """Return where the bin of positive scores ends that begins here."""
    (bits,) = struct.unpack("<q", struct.pack("<d", low))
    return struct.unpack("<d", struct.pack("<q", bits + (1 << 49)))[0]


@given(st.integers(40, 400), st.integers(0, 3), st.sampled_from([0.8, 0.95]))
def test_reported_number_of_missing_labels_is_exact(n, n_wrong, confidence):
    bins = ClassBins(True)
    for k in range(n):
        bins.add(2.0, k >= n_wrong)
    level = 0.99
    bound, missing = bins.best_bound(PRECISION, level, confidence)
    assert bound == pytest.approx(betaincinv(n - n_wrong, n_wrong + 1, 1 - confidence), abs=1e-6) or n_wrong
    if missing is not None and missing > 0.01:
        for times, is_found in ((1 + missing / n * 1.01, True), (1 + missing / n * 0.99, False)):
            more = ClassBins(True)
            more.add(2.0, True, (n - n_wrong) * times)
            more.add(2.0, False, n_wrong * times)
            assert (more.find_threshold(PRECISION, level, confidence) < NEVER) == is_found


@given(
    st.floats(0.1, 30_000),
    st.floats(0.01, 1),
    st.sampled_from([0.01, 0.5, 0.9, 0.95, 0.999]),
    st.sampled_from([0.55, 0.8, 0.95, 0.999]),
)
def test_bound_equals_clopper_and_pearson(n, ratio, share, confidence):
    k = n * ratio
    chance = betainc(k, n - k + 1, share)  # of k or more, were the share no larger
    if abs(chance - 1 + confidence) > 1e-9:
        is_above = k > share * (n + 1) and chance <= 1 - confidence
        assert is_surely(k, n, share, confidence) == is_above
    if chance <= 1 - confidence - 1e-9:
        assert bound_of(k, n - k + 1, confidence) <= betaincinv(k, n - k + 1, 1 - confidence) + 1e-9


@given(st.floats(0.001, 1e6))
def test_gamma_function_is_within_rounding(x):
    assert abs(log_gamma(x) - gammaln(x)) <= 1e-11 * max(1, abs(gammaln(x)))


def test_precision_without_labels_has_no_bound():
    assert not is_surely(0.0, 0.0, 0.5, 0.8)
