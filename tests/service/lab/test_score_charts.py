import random

import pytest

from service.lab import score_charts
from service.lab.score_curve import ScoreCurve


@pytest.fixture
def curve():
    rng = random.Random(3)
    return ScoreCurve.of([rng.gauss(1, 1) for _ in range(3000)], [rng.gauss(-1, 1) for _ in range(3000)])


def test_roc_goes_from_corner_to_corner_in_as_many_points_as_can_be_seen(curve):
    (axes,) = score_charts.roc({"a$b": curve}).axes
    x, y = axes.lines[0].get_data()
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert len(x) < 2100
    assert axes.lines[0].get_label() == f"a\\$b (area {curve.auc():.4f})"


def test_precision_is_drawn_against_recall_above_the_share_of_positives(curve):
    (axes,) = score_charts.precision_recall({"a": curve}).axes
    assert axes.lines[0].get_data()[1][-1] == axes.lines[1].get_ydata()[0] == 0.5


def test_at_the_lowest_threshold_all_are_decided(curve):
    (axes,) = score_charts.thresholds("a", curve).axes
    assert [line.get_ydata()[-1] for line in axes.lines] == [0.5, 1, 1, 1]
