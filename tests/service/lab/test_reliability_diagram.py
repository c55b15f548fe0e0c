"""The diagram shows what the calibration counted: read back from the figure."""

import random

import pytest

from service.lab.reliability_diagram import reliability_diagram
from service.partition.counts.calibration import BINS, Calibration


@pytest.fixture
def calibration():
    rng = random.Random(5)
    calibration = Calibration()
    for _ in range(500):
        calibration.add(rng.uniform(0, 6), correct=rng.random() < 0.8)
    return calibration


def test_each_bin_is_a_point_at_its_mean_probability_and_accuracy(calibration):
    upper, _ = reliability_diagram(calibration).axes
    (points,) = (line for line in upper.lines if line.get_label() == "predictions")
    assert points.get_xydata().tolist() == [[b.mean_probability, b.accuracy] for b in calibration.bins()]


def test_the_diagonal_is_drawn(calibration):
    upper, _ = reliability_diagram(calibration).axes
    (diagonal,) = (line for line in upper.lines if line.get_label() == "calibrated")
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]


def test_the_histogram_below_has_the_predictions_of_each_bin(calibration):
    _, lower = reliability_diagram(calibration).axes
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in lower.patches]
    assert bars == [(b.low, pytest.approx(1 / BINS), b.predictions) for b in calibration.bins()]


def test_the_title_states_the_error_and_the_loss(calibration):
    upper, _ = reliability_diagram(calibration).axes
    assert "500 predictions" in upper.get_title()
    assert f"error {calibration.expected_calibration_error():.4f}" in upper.get_title()
    assert f"log loss {calibration.log_loss():.4f}" in upper.get_title()


def test_the_bars_on_the_diagonal_shrink_with_the_size_of_a_bin():
    heights = []
    for n in (10, 1000):
        calibration = Calibration()
        for k in range(n):
            calibration.add(1.0, correct=k % 4 > 0)
        upper, _ = reliability_diagram(calibration).axes
        ((low, high),) = upper.collections[0].get_segments()
        heights.append(high[1] - low[1])
    assert heights[0] == pytest.approx(10 * heights[1])


def test_every_point_is_in_the_picture():
    calibration = Calibration()
    for log_odds in (-5.0, 0.0, 5.0):
        calibration.add(log_odds, correct=False)
    upper, _ = reliability_diagram(calibration).axes
    (left, right), (low, high) = upper.get_xlim(), upper.get_ylim()
    for each in calibration.bins():
        assert left <= each.mean_probability <= right
        assert low <= each.accuracy <= high
