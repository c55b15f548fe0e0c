"""Every classifier of `perceptron_core`, in every variant, passes each of River's own checks for estimators.

A check comes once for each of River's data sets. All of them are for the first variant of each class; the
others, and the check of memory, which takes nine tenths of the time, see the first. `make nightly` tries all.
"""

import math
from collections import Counter

import pytest
from river import base, checks, linear_model, preprocessing
from river.optim.schedulers import InverseScaling

import perceptron_core
import perceptron_core.binary.kernels

MEMORY_CHECK = "check_bounded_memory_growth"

# Parameters beside the defaults, by class: at least one variant for each rule a parameter switches.
VARIANTS = {
    "AROW": [
        {"r": 0.1, "fit_intercept": False},
        {"forgetting": 0.9, "intercept_forgetting": 0.5},
        {"full": True},
        {"full": True, "fit_intercept": False},
    ],
    "AveragedMulticlassPerceptron": [{"fit_intercept": False}],
    "AveragedPerceptron": [{"decay": 0.9}, {"learning_rate": InverseScaling(1.0)}, {"fit_intercept": False}],
    "BayesianLogistic": [{"forgetting": 0.9, "intercept_forgetting": 0.5}, {"fit_intercept": False}],
    "CoinBetting": [{"fit_intercept": False}],
    "HashedClassifier": [
        {"bits": 1},
        {"classifier": perceptron_core.AROW(forgetting=0.9, intercept_forgetting=0.5), "bits": 10},
        {"classifier": perceptron_core.AROW(full=True), "bits": 10},
        {"classifier": perceptron_core.AveragedPerceptron(decay=0.9), "bits": 10},
        {"classifier": perceptron_core.NormalizedAdaGrad(loss="hinge"), "bits": 10},
        {"classifier": perceptron_core.PassiveAggressive(), "bits": 10},
    ],
    "KernelPerceptron": [
        {"kernel": "linear", "fit_intercept": False},
        {"kernel": "polynomial", "degree": 2},
        {"kernel": perceptron_core.binary.kernels.dot, "budget": 10},
    ],
    "LogisticRegression": [{"learning_rate": 0.5}, {"fit_intercept": False}],
    "MarginPerceptron": [{"margin": 0.0}, {"margin": 5.0, "tie": True}, {"fit_intercept": False}],
    "Mixture": [
        {"experts": [perceptron_core.AROW(), linear_model.LogisticRegression()], "discount": 0.9},
        {"experts": [perceptron_core.KernelPerceptron(), perceptron_core.Mixture()]},
    ],
    "MulticlassAROW": [{"r": 0.1}, {"fit_intercept": False}],
    "MulticlassNormalizedAdaGrad": [{"epsilon": 0.0, "margin": math.inf}, {"fit_intercept": False}],
    "MulticlassPassiveAggressive": [
        {"variant": "PA"},
        {"variant": "PA-II", "C": 0.1},
        {"fit_intercept": False},
    ],
    "MulticlassPerceptron": [{"fit_intercept": False}],
    "NormalizedAdaGrad": [
        {"loss": "hinge", "margin": 1.0},
        {"epsilon": 0.0, "margin": math.inf},
        {"fit_intercept": False},
    ],
    "PassiveAggressive": [{"variant": "PA"}, {"variant": "PA-II", "C": 0.1}, {"fit_intercept": False}],
    "Perceptron": [
        {"tie": True},
        {"update_on_tie": False},
        {"tie": True, "update_on_tie": False, "fit_intercept": False},
        {"threshold": 0.5},
        {"learning_rate": 0.5},  # a power of 2: sums stay exact, so the order of features decides no tie
        {"learning_rate": InverseScaling(1.0)},
    ],
    "SCW": [
        {"C": 0.1, "confidence": 0.9, "fit_intercept": False},
        {"forgetting": 0.9, "intercept_forgetting": 0.5},
        {"full": True},
    ],
    "VotedPerceptron": [{"max_survivors": 5}, {"max_survivors": 1}, {"fit_intercept": False}],
}


def classifiers():
    for name in perceptron_core.__all__:
        found = getattr(perceptron_core, name)
        if isinstance(found, type) and issubclass(found, base.Classifier):
            yield found


def grid():
    for classifier in classifiers():
        defaults = tuple(classifier._unit_test_params())
        for number, parameters in enumerate((*defaults, *VARIANTS.get(classifier.__name__, ()))):
            model = _with_its_features(classifier(**parameters))
            variant = ",".join(
                f"{name}={getattr(value, '__name__', value)}" for name, value in parameters.items()
            )
            label = f"{classifier.__name__}({variant})"
            times = Counter()
            for check in checks.yield_checks(model):
                times[check.__name__] += 1
                is_again = times[check.__name__] > 1 and (number > 0 or check.__name__ == MEMORY_CHECK)
                yield pytest.param(
                    model,
                    check,
                    id=f"{label}-{check.__name__}-{times[check.__name__]}",
                    marks=pytest.mark.repetition if is_again else (),
                )


def _with_its_features(model):
    """Put a hasher before a model that takes features by index, since River's checks name theirs."""
    if isinstance(model, perceptron_core.HashedClassifier):
        return preprocessing.FeatureHasher(2**model.bits, seed=1) | model
    return model


CASES = list(grid())


@pytest.mark.parametrize(("model", "check"), CASES)
def test_rivers_check_passes(model, check):
    check(model.clone())


def test_the_memory_of_every_class_is_checked():
    measured = {
        type(model) for model, check in (case.values for case in CASES) if check.__name__ == MEMORY_CHECK
    }
    assert measured == {type(model) for model, _ in (case.values for case in CASES)}


def test_no_check_is_asked_to_be_skipped():
    assert [c.__name__ for c in classifiers() if c()._unit_test_skips()] == []


def test_every_variant_belongs_to_a_class_there_is():
    assert VARIANTS.keys() <= {classifier.__name__ for classifier in classifiers()}
