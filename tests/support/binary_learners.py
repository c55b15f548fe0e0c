"""Every two-class learner in its main variants, for the claims that hold for all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from river.optim.schedulers import InverseScaling

from perceptron_core import (
    AROW,
    SCW,
    AveragedPerceptron,
    BayesianLogistic,
    CoinBetting,
    KernelPerceptron,
    LogisticRegression,
    MarginPerceptron,
    Mixture,
    NormalizedAdaGrad,
    PassiveAggressive,
    Perceptron,
    VotedPerceptron,
)
from perceptron_core.base.binary import BinaryClassifier

LEARNERS: dict[str, BinaryClassifier] = {
    "perceptron": Perceptron(),
    "perceptron-schedule": Perceptron(threshold=0.5, tie=True, learning_rate=InverseScaling(2.0)),
    "margin-perceptron": MarginPerceptron(margin=2.0),
    "averaged-perceptron": AveragedPerceptron(),
    "averaged-perceptron-decaying": AveragedPerceptron(decay=0.3),
    "voted-perceptron": VotedPerceptron(),
    "voted-perceptron-capped": VotedPerceptron(max_survivors=3, fit_intercept=False),
    "kernel-perceptron": KernelPerceptron(),
    "kernel-perceptron-polynomial": KernelPerceptron(kernel="polynomial", budget=10, fit_intercept=False),
    "kernel-perceptron-linear": KernelPerceptron(kernel="linear"),
    "passive-aggressive": PassiveAggressive(),
    "passive-aggressive-hard": PassiveAggressive(variant="PA", fit_intercept=False),
    "passive-aggressive-squared": PassiveAggressive(variant="PA-II", C=0.1),
    "arow": AROW(),
    "arow-forgetting": AROW(r=0.1, forgetting=0.9, intercept_forgetting=0.5),
    "arow-full": AROW(full=True),
    "scw": SCW(),
    "scw-forgetting": SCW(C=0.1, forgetting=0.9, fit_intercept=False),
    "scw-full": SCW(full=True, confidence=0.9),
    "normalized-adagrad": NormalizedAdaGrad(),
    "normalized-adagrad-hinge": NormalizedAdaGrad(0.5, "hinge", 0.0, 1.0, fit_intercept=False),
    "coin-betting": CoinBetting(),
    "coin-betting-no-intercept": CoinBetting(fit_intercept=False),
    "logistic-regression": LogisticRegression(),
    "logistic-regression-no-intercept": LogisticRegression(0.5, fit_intercept=False),
    "bayesian-logistic": BayesianLogistic(),
    "bayesian-logistic-forgetting": BayesianLogistic(0.9, 0.5),
    "bayesian-logistic-no-intercept": BayesianLogistic(fit_intercept=False),
    "mixture": Mixture(),
    "mixture-of-any": Mixture(
        [KernelPerceptron(), Perceptron(threshold=0.5), Mixture([BayesianLogistic(), SCW()])],
        mixers=[(0.5, 0.9)],
        discount=0.5,
    ),
}
"""Untrained; to be cloned."""

# Small integers, so that sums of them are exact.
integers = st.integers(-8, 8)
examples = st.tuples(st.dictionaries(st.sampled_from("abcde"), integers, max_size=5), st.booleans())
streams = st.lists(examples, max_size=30)


def learn(model: BinaryClassifier, stream: Any) -> Any:
    """Learn a stream of (x, y) or (x, y, w); return the model."""
    for example in stream:
        model.learn_one(*example)
    return model
