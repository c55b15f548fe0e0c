"""The charts show what they say: read back from the figure, as a person would from the picture."""

import random
from xml.etree import ElementTree as ET

import pytest
from matplotlib.image import imread

from perceptron_core import Hyperplane, Perceptron, perceptron_train
from service.lab import charts
from service.lab.evaluation import ScoreCurve
from service.partition.parts.quality import Calibration

PLANE = Hyperplane({"a": 2.0, "b": 1.0}, bias=-2.0)
POINTS = [charts.Point(2, 2, True, False), charts.Point(-1, 0, False, False), charts.Point(1, 3, False, True)]
XOR = [({"a": a, "b": b}, a != b) for a in (0, 1) for b in (0, 1)]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def boundary(points=POINTS, plane=PLANE):
    return charts.boundary(plane, points, ("a", "b"), ("ham", "spam"))


def test_boundary_shows_classes_mistakes_and_the_line():
    figure = boundary()
    assert legend(figure)[:3] == ["ham (2)", "spam (1)", "mistakes (1)"]
    assert "2·x₁ +1·x₂ −2 = 0" in legend(figure)[3]
    assert figure.axes[0].collections[2].get_offsets().tolist() == [[1, 3]]


def test_model_without_weights_has_no_boundary_to_draw():
    assert len(legend(boundary(plane=Hyperplane()))) == 3


def test_learning_curve_marks_the_best_epoch():
    training = perceptron_train(XOR, 6, learner=Perceptron(), held_out=XOR)
    figure = charts.learning_curve(training)
    training_error, held_out_error, _, star = figure.axes[0].lines
    assert training_error.get_ydata().tolist() == [e.training_error for e in training.curve]
    assert held_out_error.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (training.best_epoch, training.best.held_out_error)
    assert f"epoch {training.best_epoch}," in legend(figure)[-1]


@pytest.mark.parametrize("name", ["$x^2", "_", "line\nbreak", "名前", "x" * 500, "\x1b[2J", ""])
@pytest.mark.parametrize("extension", charts.FORMATS)
def test_plot_accepts_any_feature_name(tmp_path, name, extension):
    path = tmp_path / f"chart{extension}"
    charts.save(charts.boundary(PLANE, POINTS, (name, "b"), ("ham", "spam")), path)
    if extension == ".png":
        assert imread(path).shape[:2] > (100, 100)
    else:
        assert ET.parse(path).getroot().tag.endswith("svg")


@pytest.fixture
def curve():
    rng = random.Random(3)
    return ScoreCurve.of([rng.gauss(1, 1) for _ in range(3000)], [rng.gauss(-1, 1) for _ in range(3000)])


def test_roc_spans_both_corners_in_no_more_points_than_visible(curve):
    (axes,) = charts.roc({"a$b": curve}).axes
    x, y = axes.lines[0].get_data()
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert len(x) < 2100
    assert axes.lines[0].get_label() == f"a\\$b (area {curve.auc():.4f})"


def test_precision_is_drawn_against_recall_above_the_share_of_positives(curve):
    (axes,) = charts.precision_recall({"a": curve}).axes
    assert axes.lines[0].get_data()[1][-1] == axes.lines[1].get_ydata()[0] == 0.5


@pytest.fixture
def calibration():
    rng = random.Random(5)
    calibration = Calibration()
    for _ in range(500):
        calibration.add(rng.uniform(0, 6), correct=rng.random() < 0.8)
    return calibration


def test_reliability_diagram_plots_mean_probability_against_accuracy(calibration):
    (axes,) = charts.reliability_diagram(calibration).axes
    (points,) = (line for line in axes.lines if line.get_label() == "predictions")
    assert points.get_xydata().tolist() == [[b.mean_probability, b.accuracy] for b in calibration.bins()]
