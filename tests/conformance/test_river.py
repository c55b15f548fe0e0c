"""Every classifier of `perceptron_core`, with every declared parameter, passes River's checks for estimators.

Most checks come once for each of River's data sets. Besides the defaults, `make test` tries one
variant of each class on the first data set, and leaves out checks that read no data. The check of memory
takes nine tenths of the time: it sees one data set, too. `make nightly` tries all (tests/nightly.toml). A
check that fails is named.
"""

import functools
from collections import Counter

import pytest
from river import base, checks, linear_model, preprocessing
from river.optim.schedulers import InverseScaling

import perceptron_core
import perceptron_core.linear.kernel
from perceptron_core.mixing.mixture import name_of
from tests.support.learners import LINEAR

MEMORY_CHECK = "check_bounded_memory_growth"

# What no learner declares of itself: parameters that are models, functions or River's schedules.
OBJECTS = {
    "AveragedPerceptron": [{"learning_rate": InverseScaling(1.0)}],
    "HashedClassifier": [{"bits": 1}, *({"classifier": model, "bits": 10} for name, model in LINEAR.items())],
    "KernelPerceptron": [{"kernel": perceptron_core.linear.kernel.dot, "budget": 10}],
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


def declared():
    """Yield a case for each class and its parameters, the defaults first."""
    for classifier in classifiers():
        for parameters in ({}, *getattr(classifier, "VARIANTS", ()), *OBJECTS.get(classifier.__name__, ())):
            shown = ",".join(f"{name}={_shown(value)}" for name, value in parameters.items())
            yield pytest.param(classifier, parameters, id=f"{classifier.__name__}({shown})")


def _shown(value):
    if isinstance(value, list):
        return f"[{','.join(map(_shown, value))}]"
    return getattr(value, "__name__", None) or (name_of(value) if isinstance(value, base.Base) else value)


DECLARED = list(declared())
DEFAULTS = [case for case in DECLARED if not case.values[1]]
OTHERS = {case.values[0]: case for case in reversed(DECLARED) if case.values[1]}.values()
"""One of each class: all variants pass the checks of `test_rivers_checks_pass_on_each_data_set`."""


def made(classifier, parameters):
    """Return the model, with a hasher before one that takes features by index: River's checks name theirs."""
    model = classifier(**parameters)
    if classifier is perceptron_core.HashedClassifier:
        return preprocessing.FeatureHasher(2**model.bits, seed=1) | model
    return model


def checks_of(model):
    """Yield each check with which time it comes, from 1 on; those that read data come for each data set."""
    times = Counter()
    for check in checks.yield_checks(model):
        times[check.__name__] += 1
        yield check, times[check.__name__]


def is_usual(check, time):
    return check.__name__ != MEMORY_CHECK or time == 1


def is_first_that_reads_data(check, time):
    return isinstance(check, functools.partial) and time == 1


def pass_those(subtests, model, are_tried=lambda *_: True):
    for check, time in checks_of(model):
        if are_tried(check, time):
            with subtests.test(check=check.__name__, time=time):
                check(model.clone())


@pytest.mark.parametrize(("classifier", "parameters"), DEFAULTS)
def test_rivers_checks_pass(classifier, parameters, subtests):
    pass_those(subtests, made(classifier, parameters), is_usual)


@pytest.mark.parametrize(("classifier", "parameters"), OTHERS)
def test_rivers_checks_that_read_data_pass_with_other_parameters(classifier, parameters, subtests):
    pass_those(subtests, made(classifier, parameters), is_first_that_reads_data)


@pytest.mark.parametrize(("classifier", "parameters"), DECLARED)
def test_rivers_checks_pass_on_each_data_set(classifier, parameters, subtests):
    pass_those(subtests, made(classifier, parameters))


def test_memory_of_every_class_is_checked():
    for case in DEFAULTS:
        assert MEMORY_CHECK in {check.__name__ for check, _ in checks_of(made(*case.values))}, case.id


def test_no_river_check_is_skipped():
    assert [c.__name__ for c in classifiers() if c()._unit_test_skips()] == []
