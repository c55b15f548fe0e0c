"""The charts show what they say: read back from the figure, as a person would from the picture."""

import math
from xml.etree import ElementTree as ET

import pytest
from matplotlib.colors import same_color
from matplotlib.image import imread

from perceptron_core import Hyperplane, MistakeBound, Perceptron, perceptron_train
from service.lab import charts

PLANE = Hyperplane({"a": 2.0, "b": 1.0}, bias=-2.0)
POINTS = [charts.Point(2, 2, True, False), charts.Point(-1, 0, False, False), charts.Point(1, 3, False, True)]
NO_BOUND = MistakeBound(math.inf, 1.0, math.nan, "no hyperplane separates the examples")
XOR = [({"a": a, "b": b}, a != b) for a in (0, 1) for b in (0, 1)]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def boundary(points=POINTS, plane=PLANE):
    return charts.boundary(plane, points, ("a", "b"), ("ham", "spam"))


def arrow(axes):
    (annotation,) = axes.texts
    return annotation.xyann, annotation.xy


def test_every_chart_has_a_title_labels_and_a_legend():
    training = perceptron_train(XOR, 3, held_out=XOR)
    figures = [
        boundary(),
        charts.learning_curve(training),
        charts.error_curves({"arow": ([1, 2], [1.0, 0.5]), "auto": ([], [])}),
        charts.cumulative_mistakes([0, 1], [1, 2], NO_BOUND),
        charts.largest_weights({"a": 1.0, "b": -2.0}, 0.5, 5),
    ]
    for figure in figures:
        (axes,) = figure.axes
        assert axes.get_title()
        assert axes.get_xlabel()
        assert len(legend(figure)) >= 2


def test_the_boundary_shows_classes_mistakes_and_the_line():
    figure = boundary()
    assert legend(figure)[:3] == ["ham (2)", "spam (1)", "mistakes (1)"]
    assert "2·x₁ + 1·x₂ − 2 = 0" in legend(figure)[3]
    mistakes = figure.axes[0].collections[2]
    assert mistakes.get_offsets().tolist() == [[1, 3]]


@pytest.mark.parametrize("stretch", [1.0, 1000.0, 0.001])
def test_the_arrow_stands_on_the_boundary_upright_and_points_to_the_positive_side(stretch):
    points = [charts.Point(p.x, p.y * stretch, p.truth, p.mistaken) for p in POINTS]
    plane = Hyperplane({"a": 2.0, "b": 1.0 / stretch}, bias=-2.0)
    figure = boundary(points, plane)
    (axes,) = figure.axes
    foot, tip = arrow(axes)
    assert plane.score_one(dict(zip("ab", foot, strict=True))) == pytest.approx(0, abs=1e-9)
    assert plane.score_one(dict(zip("ab", tip, strict=True))) > 0
    figure.draw_without_rendering()
    along = (foot[0] + 1.0, foot[1] - 2.0 * stretch)  # another point of the boundary
    on_screen = axes.transData.transform([foot, tip, along])
    w, line = on_screen[1] - on_screen[0], on_screen[2] - on_screen[0]
    assert abs(w @ line) < 1e-6 * math.hypot(*w) * math.hypot(*line)


def test_a_model_without_weights_has_no_boundary_to_draw():
    figure = boundary(plane=Hyperplane())
    assert len(legend(figure)) == 3


def test_the_learning_curve_marks_the_sweet_spot():
    training = perceptron_train(XOR, 6, learner=Perceptron(), held_out=XOR)
    figure = charts.learning_curve(training)
    training_error, held_out_error, _, star = figure.axes[0].lines
    assert training_error.get_ydata().tolist() == [e.training_error for e in training.curve]
    assert held_out_error.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (training.best_epoch, training.best.held_out_error)
    assert f"epoch {training.best_epoch}," in legend(figure)[-1]


def test_without_held_out_examples_there_is_no_sweet_spot():
    figure = charts.learning_curve(perceptron_train(XOR, 2))
    assert legend(figure) == ["training error"]


@pytest.mark.parametrize(("updates", "scale"), [(4.0, "linear"), (1e9, "symlog")])
def test_the_mistakes_stay_readable_below_any_bound(updates, scale):
    figure = charts.cumulative_mistakes([1, 1, 2], [1, 2, 3], MistakeBound(updates, 2.0, 1.0))
    (axes,) = figure.axes
    assert axes.get_yscale() == scale
    assert axes.get_ylim()[1] >= updates
    assert legend(figure)[:2] == ["updates (3)", "mistakes (2)"]


def test_the_reason_stands_where_there_is_no_bound():
    figure = charts.cumulative_mistakes([1], [1], NO_BOUND)
    assert legend(figure)[-1] == "no bound: no hyperplane separates the examples"


def test_the_largest_weights_come_first_each_in_the_colour_of_its_class():
    figure = charts.largest_weights({"a": 1.0, "b": -3.0, "c": 2.0, "d": 0.1}, -1.0, top=3)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["b", "c", "a"]
    widths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches}
    assert widths == {0: -3.0, 1: 2.0, 2: 1.0}
    colours = {bar.get_width() > 0: bar.get_facecolor() for bar in axes.patches}
    assert not same_color(colours[True], colours[False])
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


@pytest.mark.parametrize("name", ["$x^2", "_", "line\nbreak", "名前", "x" * 500, "\x1b[2J", ""])
@pytest.mark.parametrize("extension", charts.FORMATS)
def test_any_name_can_stand_in_a_picture(tmp_path, name, extension):
    path = tmp_path / f"chart{extension}"
    charts.save(charts.largest_weights({name: 1.0}, 0.0, 5), path)
    if extension == ".png":
        assert imread(path).shape[:2] > (100, 100)
    else:
        assert ET.parse(path).getroot().tag.endswith("svg")
