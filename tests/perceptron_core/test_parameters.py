"""Parameters that make no sense are rejected when a learner is made, by their name."""

import math

import pytest

from perceptron_core import (
    AROW,
    SCW,
    AutoClassifier,
    AveragedPerceptron,
    BatchPerceptron,
    BayesianLogistic,
    HashedClassifier,
    KernelPerceptron,
    LogisticRegression,
    MarginPerceptron,
    MulticlassAROW,
    MulticlassNormalizedAdaGrad,
    MulticlassPassiveAggressive,
    NormalizedAdaGrad,
    PassiveAggressive,
    Perceptron,
    TextHasher,
    VotedPerceptron,
)

ADAGRAD = {
    "learning_rate": (0.0, -1.0, math.nan, math.inf),
    "epsilon": (-0.1, math.nan, math.inf),
    "margin": (0.0, -1.0, math.nan),
}
PA = {"C": (0.0, math.nan, math.inf, 1e26), "variant": ("PA-III", 1)}
WRONG = {
    Perceptron: {"learning_rate": (0.0, math.nan), "threshold": (math.inf,)},
    MarginPerceptron: {"margin": (-1.0, math.nan, math.inf)},
    AveragedPerceptron: {"decay": (0.0, -0.5, 1.1, math.nan)},
    VotedPerceptron: {"max_survivors": (0, -1, 2.5)},
    KernelPerceptron: {
        "kernel": ("sigmoid",),
        "gamma": (0.0,),
        "degree": (0, 1.5),
        "coef0": (math.inf,),
        "budget": (0,),
        "learning_rate": (-1.0,),
    },
    PassiveAggressive: PA,
    MulticlassPassiveAggressive: PA,
    AROW: {"r": (0.0, math.nan), "forgetting": (0.0,), "intercept_forgetting": (1.5,)},
    MulticlassAROW: {"r": (0, -1, math.nan, math.inf)},
    SCW: {"C": (-1.0,), "confidence": (0.5, 1.0)},
    BayesianLogistic: dict.fromkeys(("forgetting", "intercept_forgetting"), (0.0, -1.0, 1.5, math.nan)),
    LogisticRegression: {"learning_rate": (0.0, -1.0, 1e26, math.nan)},
    NormalizedAdaGrad: {**ADAGRAD, "loss": ("squared",)},
    MulticlassNormalizedAdaGrad: ADAGRAD,
    BatchPerceptron: {
        "learning_rate": (0.0, math.nan),
        "margin": (-1.0,),
        "criterion": (0.0,),
        "max_iter": (0,),
    },
    HashedClassifier: {"bits": (0, 31, -1)},
    TextHasher: {"bits": (0, 31), "ngrams": ((0, 1), (3, 2)), "analyzer": ("bytes",)},
    AutoClassifier: {
        "hash_bits": (0, 27, True),
        "max_columns": (-1, 257, 3.5),
        "seed": (1.5,),
        "effort": ("much",),
    },
}


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (cls, name, value)
        for cls, names in WRONG.items()
        for name, values in names.items()
        for value in values
    ],
)
def test_invalid_parameter_is_rejected_by_name(cls, name, value):
    required = {"bits": 18} if cls is TextHasher else {}
    with pytest.raises(ValueError, match=f"^{name}"):
        cls(**{**required, name: value})


def test_error_of_a_parameter_names_its_true_bounds():
    with pytest.raises(ValueError, match=r"C: expected a number from 1e-25 to 1e\+25, got 1e-30"):
        PassiveAggressive(C=1e-30)


def test_full_arow_does_not_forget():
    with pytest.raises(ValueError, match="forgetting: expected 1 with full"):
        AROW(forgetting=0.9, full=True)
