"""Every classifier of `perceptron_core`, with every declared parameter, passes River's checks for estimators.

Most checks come once for each of River's data sets. In the usual run, all are for the defaults of a class.
Other variants see the first data set, and none of the checks that read no data; of hashed learners there are
those with default parameters. The check of memory, which takes nine tenths of the time, sees one data set.
`make nightly` tries all.
"""

import functools
from collections import Counter

import pytest
from river import base, checks, linear_model, preprocessing
from river.optim.schedulers import InverseScaling

import perceptron_core
import perceptron_core.binary.kernels
from perceptron_core.mixing.experts import name_of
from tests.support.learners import LINEAR

MEMORY_CHECK = "check_bounded_memory_growth"

# What no learner declares of itself: parameters that are models, functions or River's schedules.
OBJECTS = {
    "AveragedPerceptron": [{"learning_rate": InverseScaling(1.0)}],
    "HashedClassifier": [
        {"bits": 1},
        *({"classifier": model, "bits": 10} for name, model in LINEAR.items()),
    ],
    "KernelPerceptron": [{"kernel": perceptron_core.binary.kernels.dot, "budget": 10}],
    "Mixture": [
        {"experts": [perceptron_core.AROW(), linear_model.LogisticRegression()], "discount": 0.9},
        {"experts": [perceptron_core.KernelPerceptron(), perceptron_core.Mixture()]},
    ],
    "Perceptron": [{"learning_rate": InverseScaling(1.0)}],
}


def classifiers():
    for name in perceptron_core.__all__:
        found = getattr(perceptron_core, name)
        if isinstance(found, type) and issubclass(found, base.Classifier):
            yield found


def grid():
    for classifier in classifiers():
        declared = getattr(classifier, "VARIANTS", ())
        objects = OBJECTS.get(classifier.__name__, ())
        for number, parameters in enumerate(({}, *declared, *objects)):
            model = _with_its_features(classifier(**parameters))
            variant = ",".join(f"{name}={_shown(value)}" for name, value in parameters.items())
            times = Counter()
            for check in checks.yield_checks(model):
                times[check.__name__] += 1
                reads_data = isinstance(check, functools.partial)
                is_again = (
                    (number > 0 and not reads_data)
                    or (times[check.__name__] > 1 and (number > 0 or check.__name__ == MEMORY_CHECK))
                    or _is_hashed_variant(parameters)
                )
                yield pytest.param(
                    model,
                    check,
                    id=f"{classifier.__name__}({variant})-{check.__name__}-{times[check.__name__]}",
                    marks=pytest.mark.repetition if is_again else (),
                )


def _shown(value):
    return getattr(value, "__name__", None) or (name_of(value) if isinstance(value, base.Base) else value)


def _is_hashed_variant(parameters):
    learner = parameters.get("classifier")
    return learner is not None and name_of(learner) != type(learner).__name__


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
