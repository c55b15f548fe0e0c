"""Multiclass learners with one weight vector per class."""

from __future__ import annotations

from typing import ClassVar

from perceptron_core.linear import column_properties, restored
from perceptron_core.linear.multiclass import MulticlassClassifier


class LinearMulticlass(MulticlassClassifier):
    """A multiclass learner that predicts by the weights it learns.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    fit_intercept
        Whether each class has a bias.

    """

    STATE: ClassVar = {**dict.fromkeys(("_weights", "_bias"), restored.columns), **restored.COUNTS}

    _weights = column_properties.nonzero_by_class("weight_columns", "Non-zero weights by feature, by class.")
    _bias = column_properties.by_class("biases", "Bias by class.")
    weights = column_properties.read_only(_weights)
    bias = column_properties.read_only(_bias)
