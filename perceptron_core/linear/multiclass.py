"""The base class of all multiclass learners, which predict the class with the highest score.

A learner adds a rule: see `multiclass_rule`.
"""

from __future__ import annotations

import abc
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from river import base

from perceptron_core.elementary import exp
from perceptron_core.linear import column_properties, data_frames, restored
from perceptron_core.linear.binary import Features
from perceptron_core.linear.declarations import Label, Term, contribution_table
from perceptron_core.linear.multiclass_rule import MulticlassRule
from perceptron_core.sparse_vectors import Vector
from perceptron_core.validation import LabelError
from perceptron_core.weights.example import Column

Scores = dict[Label, float]
"""Score by class, in the order that breaks ties."""


class MulticlassClassifier(MulticlassRule, base.MiniBatchClassifier):
    """A classifier that predicts the class with the highest score.

    Parameters
    ----------
    classes
        All possible labels, two or more. None: the labels seen so far.
    fit_intercept
        Whether each class has a bias.

    Attributes
    ----------
    weights : dict
        The predicting weights that are not 0, by class and feature.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that were misclassified before their update. The first example of a
        class that is not in `classes` always counts.
    n_updates : int
        Updates made.

    """

    STATE: ClassVar[restored.State] = restored.COUNTS
    """The state that `to_bytes` writes with the parameters. The first entry is by class."""
    WEIGHT: ClassVar[str] = ""
    """The effect of the weight of an example; empty if the learner does not take weights."""
    VARIANTS: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Parameters that tests try besides the defaults: one or more for each rule that a parameter switches."""
    has_probabilities: ClassVar[bool] = False
    """Whether the softmax of the scores estimates probabilities; otherwise it only orders classes."""

    def __init__(self, classes: Sequence[Label] | None = None, fit_intercept: bool = True) -> None:
        self.classes = None if classes is None else check_classes(classes)
        self.fit_intercept = bool(fit_intercept)
        self.n_mistakes = 0
        self.n_updates = 0
        self._restart(self.classes or ())

    @property
    @abc.abstractmethod
    def weights(self) -> dict[Label, Vector]:
        """The predicting weights that are not 0, by feature, by class; computed at each access."""

    @property
    @abc.abstractmethod
    def bias(self) -> dict[Label, float]:
        """Bias by class; computed on access."""

    learn_many = data_frames.learn_many
    predict_many = data_frames.predict_many
    predict_proba_many = data_frames.predict_proba_many
    _learn_leading = data_frames.no_row_learned
    _predict_leading = _predict_proba_leading = data_frames.no_row_predicted

    def _known_classes(self) -> Collection[Label]:
        """Return the classes in the order of their first occurrence."""
        return self.numbers.keys()

    @property
    def _multiclass(self) -> bool:
        return True

    @staticmethod
    def decide(scores: Mapping[Label, float]) -> Any:
        """Return the class with the highest score, at a tie the first; None without classes."""
        return max(scores, key=scores.__getitem__, default=None)

    def predict_proba_one(self, x: Features, **_: Any) -> dict[base.typing.ClfTarget, float]:
        """Return the softmax of the scores.

        They are probabilities if `has_probabilities`; otherwise they only order classes, and are not
        calibrated. Raises `FeatureError` as `scores_one` does.
        """
        return softmax(self.scores_one(x))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            Feature values.
        y
            The class: anything hashable but None and NaN; one of `classes`, if these were given.
        w
            Weight of the example; with 0, nothing changes.

        Raises
        ------
        FeatureError, LabelError
            See their docstrings; the model stays unchanged.
        ValueError
            `w` is negative, not finite, or above 1e25.

        """
        self.update_one(x, y, w)

    def debug_one(self, x: Features, decimals: int = 5) -> str:
        """Return a table of the predicted class's score by terms. Raises `FeatureError` as `scores_one`."""
        predicted = self.predict_one(x)
        if predicted is None:
            return "no class is known"
        return f"Class {predicted!r}\n\n{contribution_table(self._terms(x, predicted), decimals)}"

    def _terms(self, x: Features, label: Label) -> Iterable[Term]:
        """Yield the terms of a class's score for the checked `x`, the bias last."""
        weights = self.weights[label]
        for name, value in x.items():
            yield name, value, weights.get(name, 0.0)
        yield "Intercept", 1.0, self.bias[label]

    def check_label(self, label: Any) -> Label:
        """Return a label in normal form. Raises `LabelError` if it is not one of `classes`."""
        return checked_label(label, self.numbers, self.classes)

    def _get_state(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in self.STATE}
        if self.labels:  # the first class has all names, to keep their order
            state[next(iter(self.STATE))][self.labels[0]] = self.table.stored(self._first_columns()[0])
        return state

    def _first_columns(self) -> Sequence[Column]:
        """Return the columns of features, by class, that come first in `STATE`."""
        return self.weight_columns

    def _set_state(self, state: Mapping[str, Any]) -> None:
        self._restart(restored.classes(state[next(iter(self.STATE))], self.classes))
        for name, checked in self.STATE.items():
            setattr(self, name, checked(state[name]))

    def _restart(self, labels: Iterable[Label]) -> None:
        """Restart with these classes."""
        self.clear()
        for label in labels:
            self.add_class(label)

    def _of_columns(self, columns: Sequence[Column]) -> dict[Label, Vector]:
        """Return the non-zero cells of the features' columns, by class."""
        return {label: self.table.nonzero(columns[number]) for label, number in self.numbers.items()}

    def _write_columns(self, columns: Sequence[Column], cells: Mapping[Label, Mapping[Any, float]]) -> None:
        """Replace the cells of the features' columns."""
        for label, named in cells.items():
            self.table.write(columns[self.numbers[label]], named)


def softmax(scores: Mapping[Any, float]) -> dict[Any, float]:
    """Compute exp(sᵢ) / Σ exp(sⱼ) without overflow."""
    highest = max(scores.values(), default=0.0)
    powers = {label: exp(score - highest) for label, score in scores.items()}
    total = 0.0
    for power in powers.values():  # `sum` of floats differs between Python 3.11 and 3.12
        total += power
    return {label: power / total for label, power in powers.items()}


def checked_label(label: Any, known: Collection[Label], classes: Sequence[Label] | None) -> Label:
    """Return a label in normal form. Raises `LabelError` if it is not one of `classes`."""
    numpy = sys.modules.get("numpy")  # without it, no value is a NumPy scalar
    plain: Label = label.item() if numpy and isinstance(label, numpy.generic) else label
    try:
        is_known = plain in known
    except TypeError:
        raise LabelError(f"label {label!r} is not hashable") from None
    if is_known:
        return plain
    if classes is not None:
        raise LabelError(f"unknown label {label!r}, expected one of {classes}")
    if plain is None or plain != plain:  # noqa: PLR0124  only NaN differs from itself
        raise LabelError(f"unknown label {label!r}")
    return plain


def check_classes(classes: Sequence[Label]) -> tuple[Label, ...]:
    """Return the given classes. Raises `ValueError` unless they are two or more."""
    different = () if isinstance(classes, str) else {each for each in classes if each == each}  # noqa: PLR0124  NaN is not a label
    if len(different) < max(2, len(classes)) or None in different:
        raise ValueError(f"classes: expected two or more different labels, got {classes!r}")
    return tuple(classes)


class LinearMulticlass(MulticlassClassifier):
    """A multiclass learner that predicts with the weights that it learns.

    Parameters
    ----------
    classes
        All possible labels, two or more. None: the labels seen so far.
    fit_intercept
        Whether each class has a bias.

    """

    STATE: ClassVar = {**dict.fromkeys(("_weights", "_bias"), restored.columns), **restored.COUNTS}

    _weights = column_properties.nonzero_by_class("weight_columns", "Non-zero weights by class and feature.")
    _bias = column_properties.by_class("biases", "Bias by class.")
    weights = column_properties.read_only(_weights)
    bias = column_properties.read_only(_bias)
