"""A rise of the share of mistakes is found, wherever batches end and processes restart."""

import random
from itertools import pairwise
from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.partition.parts.drift import UNIT, Detector

MISTAKES = st.lists(
    st.tuples(st.integers(1, 60), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.integers(0, 9)), max_size=6
)
"""Stretches of labels: how many, how many of them are mistakes, a seed."""


def drawn(n, share, seed=1):
    draw = random.Random(seed)
    return [draw.random() < share for _ in range(n)]


def stretched(stretches):
    return [each for n, share, seed in stretches for each in drawn(10 * n, share, seed)]


def entropy(q, p):
    return sum(a * log(a / b) for a, b in ((q, p), (1 - q, 1 - p)) if a)


def surest_cut(blocks, labels_between):
    """Return the cut that the docstring describes, by trying all."""
    if len(blocks) == 1:
        return None
    n, wrong = (sum(column) for column in zip(*blocks, strict=True))
    found = []
    for k in range(1, len(blocks)):
        (n_0, wrong_0), (n_1, wrong_1) = (
            (sum(column) for column in zip(*part, strict=True)) for part in (blocks[:k], blocks[k:])
        )
        both = ((n_0, wrong_0 / n_0), (n_1, wrong_1 / n_1))
        found.append((max(size * entropy(share, wrong / n) for size, share in both), k))
    evidence, k = max(found)
    return k if evidence > log(len(found) * labels_between / UNIT) else None


@given(MISTAKES, st.lists(st.integers(0, 3000), max_size=5), st.booleans())
def test_batch_boundaries_and_restarts_change_nothing(stretches, cuts, restarts):
    mistakes = stretched(stretches)
    whole, cut, found = Detector(1000), Detector(1000), []
    expected = whole.observe(mistakes)
    for begin, end in pairwise([0, *sorted(cuts), 4000]):
        found += cut.observe(mistakes[begin:end])
        if restarts:
            state, cut = cut.state(), Detector(1000)
            cut.restore(state)
    assert (found, cut.state()) == (expected, whole.state())


@given(MISTAKES)
def test_drift_forgets_labels_before_the_most_confident_cut(stretches):
    detector, mistakes = Detector(1000), stretched(stretches)
    for begin in range(0, len(mistakes) - UNIT, UNIT):
        sizes, wrong, *_ = detector.state()
        before = [*zip(sizes, wrong, strict=True), (UNIT, sum(mistakes[begin : begin + UNIT]))]
        unbounded = Detector(inf)  # joins blocks alike, and forgets none
        unbounded.restore([sizes, wrong, 0, 0])
        unbounded.observe(mistakes[begin : begin + UNIT])
        blocks = [*zip(*unbounded.state()[:2], strict=True)]
        assert sum(n for n, _ in blocks) == sum(n for n, _ in before)
        rises = detector.observe(mistakes[begin : begin + UNIT])
        k = surest_cut(blocks, 1000)
        assert [*zip(*detector.state()[:2], strict=True)] == blocks[k or 0 :]
        assert len(rises) == (k is not None and detector_rose(blocks, k))


def detector_rose(blocks, k):
    older, newer = ([sum(column) for column in zip(*part, strict=True)] for part in (blocks[:k], blocks[k:]))
    return newer[1] / newer[0] > older[1] / older[0]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_false_alarms_are_rarer_than_configured(share):
    n = 300_000
    assert len(Detector(10_000).observe(drawn(n, share))) <= n / 10_000


@pytest.mark.parametrize(
    ("before", "after", "within"), [(0.01, 0.05, 1000), (0.1, 0.2, 1000), (0.2, 0.6, 150)]
)
def test_rising_error_is_detected_with_its_previous_rate(before, after, within):
    detector = Detector(1_000_000)
    assert not detector.observe(drawn(20_000, before))
    (rise, *_) = detector.observe(drawn(within, after, 2))
    assert rise.before == pytest.approx(before, rel=0.2)
    assert rise.after > after / 2
    assert 20_000 - within < rise.labels_before < 20_000 + within


def test_falling_error_is_not_a_drift_and_restarts_detection():
    detector = Detector(1_000_000)
    assert not detector.observe([*drawn(5000, 0.5), *drawn(2000, 0.01)])
    (rise, *_) = detector.observe(drawn(200, 0.5))
    assert rise.before < 0.05


@pytest.mark.parametrize("mistake", [False, True])
def test_constant_labels_show_no_drift(mistake):
    assert not Detector(1000).observe([mistake] * 5000)


def test_memory_grows_by_a_logarithm():
    detector = Detector(1_000_000)
    detector.observe([False] * 500_000)
    sizes, *_ = detector.state()
    assert (sum(sizes), len(sizes) < 60) == (500_000, True)
