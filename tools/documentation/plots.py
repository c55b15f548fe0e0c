"""The documentation's pictures, drawn by the learners themselves. Out: docs/plots/*.svg.

`make docs-plots` redraws them. Each file carries a digest of the numbers after it: a test computes these
again, and fails when a picture no longer shows what the code does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from river import datasets, preprocessing

from perceptron_core import (
    AROW,
    SCW,
    AutoClassifier,
    AveragedPerceptron,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    VotedPerceptron,
    mistake_bound,
)
from perceptron_core.linear.binary import Features
from tools.documentation.anchors import anchors
from tools.documentation.charts import Chart, Curve, Points, draw, draw_geometry

FOLDER: Final = Path(__file__).parents[2] / "docs" / "plots"

_POINTS: Final = 160
"""Points of a curve at most: more are not to be seen, and make the files large."""


def steps() -> Chart:
    """Return the step of each rule by how right the score was: on one feature of value 1, no intercept."""
    rules = {
        "Perceptron": lambda: Perceptron(fit_intercept=False),
        "MarginPerceptron(margin=1)": lambda: MarginPerceptron(margin=1.0, fit_intercept=False),
        'PassiveAggressive(variant="PA")': lambda: PassiveAggressive(variant="PA", fit_intercept=False),
        "PassiveAggressive(C=1)": lambda: PassiveAggressive(C=1.0, fit_intercept=False),
        "AROW(r=1)": lambda: AROW(fit_intercept=False),
        "SCW(C=1)": lambda: SCW(fit_intercept=False),
    }

    def step(make: Callable[[], Any], score: float) -> float:
        model = make()
        model.weights = {"x": score}
        return float(model.update_one({"x": 1.0}, y=True))

    scores = [round(-2 + 0.02 * n, 2) for n in range(201)]
    curves = [Curve(name, [(score, step(make, score)) for score in scores]) for name, make in rules.items()]
    return Chart("signed score y·a before the update", "step along y·x", curves)


def geometry() -> Chart:
    """Return Gormley's six examples, and the weights after each of the three mistakes."""
    stream = [(-1, 2, False), (1, 0, True), (1, 1, True), (-1, 0, False), (-1, -2, False), (1, -1, True)]
    model = Perceptron(tie=True, update_on_tie=False, fit_intercept=False)
    weights: Points = []
    for x1, x2, y in stream:
        before = model.n_mistakes
        model.learn_one({"x1": x1, "x2": x2}, y)
        if model.n_mistakes > before:
            weights.append((model.weights.get("x1", 0.0), model.weights.get("x2", 0.0)))
    classes = [Curve(str(truth), [(a, b) for a, b, y in stream if y is truth]) for truth in (True, False)]
    return Chart("$x_1$", "$x_2$", [*classes, Curve("w", weights)], draw=draw_geometry)


def bound() -> Chart:
    """Return the updates on separable data alongside what (R/γ)² allows, for three margins."""
    curves = []
    for margin in (0.05, 0.1, 0.2):
        data = list(_separable(500, margin))
        model = Perceptron()
        points = []
        for number, (x, y) in enumerate(data):
            model.learn_one(x, y)
            points.append((float(number + 1), float(model.n_updates)))
        allowed = mistake_bound(data).updates
        curves.append(
            Curve(f"margin {margin}: at most {allowed:,.0f}, made {model.n_updates}", _thinned(points))
        )
    return Chart("examples", "updates", curves, logarithmic=True)


def drift() -> Chart:
    """Return the rolling error of five learners on a stream whose classes swap in the middle."""
    models = {
        "Perceptron": Perceptron(),
        "AveragedPerceptron": AveragedPerceptron(),
        "AveragedPerceptron(decay=0.98)": AveragedPerceptron(decay=0.98),
        "AROW": AROW(),
        "AROW(forgetting=0.98, …)": AROW(forgetting=0.98, intercept_forgetting=0.98),
    }
    stream = list(_swapping(3000))
    curves = [Curve(name, _rolling(_mistakes(model, stream), 200)) for name, model in models.items()]
    return Chart("events", "error over the last 200", curves, ratios=True)


def overview() -> Chart:
    """Return the error so far of each two-class learner along River's Phishing data."""
    learners = (
        Perceptron(),
        MarginPerceptron(margin=3.0),
        AveragedPerceptron(),
        VotedPerceptron(max_survivors=50),
        PassiveAggressive(C=0.01),
        AROW(),
        SCW(C=0.1),
    )
    stream = list(datasets.Phishing())
    curves = []
    for learner in learners:
        model = preprocessing.StandardScaler() | learner
        points = _so_far(_mistakes(model, stream))
        curves.append(Curve(f"{type(learner).__name__}: {points[-1][1]:.1%}", _thinned(points[50:])))
    return Chart("events", "error so far", curves, ratios=True)


def auto() -> Chart:
    """Return the error so far of the perceptron and of the mixture along River's Bananas data."""
    stream: list[Any] = list(datasets.Bananas())  # type: ignore[no-untyped-call]
    curves = []
    for model in (preprocessing.StandardScaler() | Perceptron(), AutoClassifier()):
        name = "AutoClassifier" if isinstance(model, AutoClassifier) else "Perceptron"
        points = _so_far(_mistakes(model, stream))
        curves.append(Curve(f"{name}: {points[-1][1]:.1%}", _thinned(points[50:])))
    return Chart("events", "error so far", curves, ratios=True)


CHARTS: Final[dict[str, Callable[[], Chart]]] = {
    "anchors": anchors,
    "auto": auto,
    "bound": bound,
    "drift": drift,
    "geometry": geometry,
    "overview": overview,
    "steps": steps,
}
"""By the name of the file."""


def _mistakes(model: Any, stream: Iterable[tuple[Features, Any]]) -> Iterator[bool]:  # noqa: ANN401  River's
    """Predict, tell whether that was wrong, learn; one after the other."""
    for x, y in stream:
        yield (model.predict_one(x) or False) != y
        model.learn_one(x, y)


def _so_far(mistakes: Iterable[bool]) -> Points:
    wrong, points = 0, []
    for number, mistake in enumerate(mistakes, start=1):
        wrong += mistake
        points.append((float(number), wrong / number))
    return points


def _rolling(mistakes: Iterable[bool], window: int) -> Points:
    found = list(mistakes)
    return _thinned(
        [(float(end), sum(found[end - window : end]) / window) for end in range(window, len(found) + 1)]
    )


def _thinned(points: Points) -> Points:
    every = max(1, len(points) // _POINTS)
    return [*points[::every], points[-1]]


def _separable(count: int, margin: float) -> Iterator[tuple[Features, bool]]:
    """Draw examples from the unit disc that lie at least `margin` from a line."""
    rng = random.Random(1)  # noqa: S311  made-up examples
    while count:
        a, b = rng.uniform(-1, 1), rng.uniform(-1, 1)
        distance = (a - b) / math.sqrt(2)
        if math.hypot(a, b) <= 1 and abs(distance) >= margin:
            yield {"a": a, "b": b}, distance > 0
            count -= 1


def _swapping(count: int) -> Iterator[tuple[Features, bool]]:
    """Draw noisy examples whose classes swap their meaning in the middle."""
    rng = random.Random(3)  # noqa: S311  made-up examples
    for number in range(count):
        x: Features = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        sign = 1 if number < count / 2 else -1
        yield x, sign * (x["a"] - x["b"]) + rng.gauss(0, 0.5) > 0


def main() -> None:
    """Draw all."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in CHARTS.items():
        path = FOLDER / f"{name}.svg"
        draw(make(), path)
        print(f"{path}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
