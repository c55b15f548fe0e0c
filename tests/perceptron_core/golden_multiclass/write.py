"""Writes a file for each learner of several classes as this release does, for later releases to read.

    python -m tests.perceptron_core.golden_multiclass.write

A file that exists stays: what was released is not rewritten.
"""

from __future__ import annotations

from pathlib import Path

from perceptron_core import (
    AveragedMulticlassPerceptron,
    MulticlassAROW,
    MulticlassNormalizedAdaGrad,
    MulticlassPassiveAggressive,
    MulticlassPerceptron,
    StructuredPerceptron,
    to_bytes,
)
from perceptron_core.base.multiclass import MulticlassClassifier

FOLDER = Path(__file__).parent
MULTICLASS = {
    "multiclass-perceptron": MulticlassPerceptron(),
    "multiclass-perceptron-classes": MulticlassPerceptron(["ant", True, 7, ("bee", 1)], fit_intercept=False),
    "averaged-multiclass-perceptron": AveragedMulticlassPerceptron(),
    "multiclass-passive-aggressive": MulticlassPassiveAggressive(C=0.5, variant="PA-II"),
    "multiclass-arow": MulticlassAROW(r=0.1),
    "multiclass-normalized-adagrad": MulticlassNormalizedAdaGrad(),
    "multiclass-normalized-adagrad-classes": MulticlassNormalizedAdaGrad(
        ["ant", True, 7, ("bee", 1)], 0.5, epsilon=0.0, margin=1.0, fit_intercept=False
    ),
}
STREAM = [
    ({"text=win": 1.0, "text=now": 2.0}, "ant"),
    ({"text=now": 1.0, "length": 0.3}, True),
    ({"text=win": 1.0, 7: -1.5}, 7),
    ({("a", 1): 0.1, "length": -0.7}, ("bee", 1)),
    ({"text=now": 3.0, "naïve": 0.2}, "ant"),
    ({"text=win": 0.1}, 7),
]
STRUCTURED = "structured-perceptron"
SENTENCES = [
    ([["the"], ["run"]], ["D", "N"]),
    ([{"we": 1.0}, {"run": 0.5, ("cap", 0): 1.0}], ["P", ("V", 1)]),
    ([["the"], [3]], ["D", "N"]),
]


def taught(name: str) -> MulticlassClassifier:
    """Return a multiclass learner that has learned the stream."""
    model: MulticlassClassifier = MULTICLASS[name].clone()
    for x, y in STREAM:
        model.learn_one(x, y)
    return model


def taught_structured() -> StructuredPerceptron:
    """Return a structured perceptron that has learned the sentences."""
    model = StructuredPerceptron()
    for xs, tags in SENTENCES:
        model.learn_one(xs, tags)
    return model


if __name__ == "__main__":
    models = {**{name: taught(name) for name in MULTICLASS}, STRUCTURED: taught_structured()}
    for name, made in models.items():
        path = FOLDER / f"{name}.bin"
        if not path.exists():
            path.write_bytes(to_bytes(made))
