"""A model that takes its time, for `perceptron serve --model`: the loop around it costs little beside it."""

from __future__ import annotations

from river import base, ensemble, linear_model


def build() -> base.Classifier:
    """Make a bagged ensemble of logistic regressions."""
    return ensemble.BaggingClassifier(linear_model.LogisticRegression(), n_models=10, seed=1)
