"""How well predictions tell each class from the others: precision, recall and what follows from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

Label = TypeVar("Label", bound=Hashable)

MOST_CLASSES: Final = 32
"""Classes that are told apart; the others are one."""
OTHERS: Final = "(others)"
"""The name of the classes beyond them."""


class ClassFigures(NamedTuple):
    """Figures of one class against all others, 0-1; None where they divide by nothing.

    References
    ----------
    Matthews, B. W. (1975). Comparison of the predicted and observed secondary structure of T4 phage lysozyme.
    Biochimica et Biophysica Acta 405(2). The correlation: 1 if all are right, 0 if by chance, -1 if none is.

    """

    labelled: int
    """Examples of the class."""
    precision: float | None
    """Of the predictions of the class, those that are right."""
    recall: float | None
    """Of its examples, those that were predicted so."""
    f1: float | None
    """The harmonic mean of the two."""
    specificity: float | None
    """Of the examples of other classes, those that were not predicted so."""
    matthews_correlation: float | None


def class_figures(cells: Mapping[tuple[Label, Label], int]) -> dict[Label, ClassFigures]:
    """Return the figures of each class, in the order of the classes, from predictions by (truth, predicted).

    >>> found = class_figures({("ham", "ham"): 8, ("ham", "spam"): 1, ("spam", "spam"): 1})["spam"]
    >>> found.precision, found.recall, found.specificity, found.matthews_correlation
    (0.5, 1.0, 0.888..., 0.666...)
    """
    truths, predictions = Counter[Label](), Counter[Label]()
    for (truth, predicted), count in cells.items():
        truths[truth] += count
        predictions[predicted] += count
    labels = sorted(truths | predictions, key=str)
    total = truths.total()
    return {
        label: _figures(cells.get((label, label), 0), truths[label], predictions[label], total)
        for label in labels
    }


def _figures(hits: int, positives: int, predicted: int, total: int) -> ClassFigures:
    negatives, rejected = total - positives, total - predicted
    spread = math.sqrt(predicted * positives * negatives * rejected)
    return ClassFigures(
        positives,
        ratio(hits, predicted),
        ratio(hits, positives),
        ratio(2 * hits, predicted + positives),
        ratio(negatives - predicted + hits, negatives),
        ratio(total * hits - predicted * positives, spread),
    )


def ratio(part: float, whole: float) -> float | None:
    """Return a share; None of nothing."""
    return part / whole if whole else None


def first_classes(pairs: Iterable[tuple[Label, Label]]) -> list[Label]:
    """Return the classes that are told apart: the first that cells had, which does not change later."""
    return [*dict.fromkeys(label for pair in pairs for label in pair)][:MOST_CLASSES]
