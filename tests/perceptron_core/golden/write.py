"""Write a file for each learner that has none: once, and for later releases to read.

    python -m tests.perceptron_core.golden.write

A file that exists stays: what was released is not rewritten. Version 0.2.0 was the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perceptron_core import (
    AutoClassifier,
    CharacterNaiveBayes,
    HoeffdingForest,
    NearestNeighbors,
    StructuredPerceptron,
    from_bytes,
    to_bytes,
)
from perceptron_core.linear.multiclass import MulticlassClassifier
from tests.support.learners import KINDS, SEVERAL, TWO_CLASS

FOLDER = Path(__file__).parent
ANT, YES, SEVEN, BEE = KINDS
STREAM = [
    ({"text=win": 1.0, "text=now": 2.0}, True, ANT),
    ({"text=now": 1.0, "length": 0.3}, False, YES),
    ({"text=win": 1.0, 7: -1.5}, True, SEVEN),
    ({("a", 1): 0.1, "length": -0.7}, False, BEE),
    ({"text=now": 3.0, "naïve": 0.2}, True, ANT),
    ({"text=win": 0.1}, False, SEVEN),
]
"""What each of them has learned: features, the label of two classes, that of several."""
STRUCTURED = "structured-perceptron"
SENTENCES = [
    ([["the"], ["run"]], ["D", "N"]),
    ([{"we": 1.0}, {"run": 0.5, ("cap", 0): 1.0}], ["P", ("V", 1)]),
    ([["the"], [3]], ["D", "N"]),
]


MIXED = {
    "auto": AutoClassifier(hash_bits=10, max_columns=4),
    "auto(effort=low)": AutoClassifier(hash_bits=10, max_columns=4, effort="low"),
    "auto(classes)": AutoClassifier(["a", "b", "c"], hash_bits=10, max_columns=4),
    "character-naive-bayes": CharacterNaiveBayes(hash_bits=10),
    "hoeffding-forest": HoeffdingForest(max_columns=4),
    "nearest-neighbors": NearestNeighbors(max_columns=4),
}
"""Learners of events of any kind."""


def mixed_stream(n: int) -> Iterator[tuple[Any, str]]:
    """Make events of numbers, a category and a text; the class depends on all of them."""
    draw = random.Random(7)
    for _ in range(n):
        x = {"a": draw.random(), "b": draw.gauss(0, 100), "kind": draw.choice("uvwxyz")}
        x["note"] = f"see you at {draw.choice(['noon', 'night'])}, in front of the old station"
        y = (x["a"] > 0.5) + ("noon" in x["note"]) * (x["kind"] in "uvw")
        yield {name: value for name, value in x.items() if draw.random() < 0.95}, "abc"[y]


def stream_of(model: Any) -> list[tuple[Any, Any]]:
    """Return the stream with the labels that a model takes."""
    if isinstance(model, AutoClassifier):
        return [*mixed_stream(150)]
    if isinstance(model, StructuredPerceptron):
        return SENTENCES
    return [(x, kind if isinstance(model, MulticlassClassifier) else y) for x, y, kind in STREAM]


def taught(model: Any) -> Any:
    """Return a model of the same parameters that has learned its stream."""
    fresh = model.clone()
    for x, y in stream_of(model):
        fresh.learn_one(x, y)
    return fresh


def written() -> dict[str, bytes]:
    """Return what was written, by name."""
    return {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.bin"))}


if __name__ == "__main__":
    known = {repr(from_bytes(data)) for data in written().values()}
    for name, model in {**TWO_CLASS, **SEVERAL, **MIXED, STRUCTURED: StructuredPerceptron()}.items():
        if repr(model) not in known:
            data = to_bytes(taught(model))
            with (FOLDER / f"{name}.bin").open("xb") as file:  # never over another
                file.write(data)
