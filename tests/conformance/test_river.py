"""Every classifier of ours, in every variant, passes each of River's own checks for estimators."""

from collections import Counter

import pytest
from river import base, checks

import perceptron_core

# Parameters beside the defaults, by class: at least one variant for each rule a parameter switches.
VARIANTS = {
    "Perceptron": [
        {"tie": True},
        {"update_on_tie": False},
        {"tie": True, "update_on_tie": False, "fit_intercept": False},
        {"threshold": 0.5},
        {"learning_rate": 0.1},
    ],
}


def classifiers():
    for name in perceptron_core.__all__:
        found = getattr(perceptron_core, name)
        if isinstance(found, type) and issubclass(found, base.Classifier):
            yield found


def grid():
    for classifier in classifiers():
        defaults = tuple(classifier._unit_test_params())
        for parameters in (*defaults, *VARIANTS.get(classifier.__name__, ())):
            model = classifier(**parameters)
            variant = ",".join(f"{name}={value}" for name, value in parameters.items())
            label = f"{classifier.__name__}({variant})"
            times = Counter()
            for check in checks.yield_checks(model):
                times[check.__name__] += 1
                # A check comes once for each of River's data sets.
                yield pytest.param(model, check, id=f"{label}-{check.__name__}-{times[check.__name__]}")


@pytest.mark.parametrize(("model", "check"), list(grid()))
def test_rivers_check_passes(model, check):
    check(model.clone())


def test_no_check_is_asked_to_be_skipped():
    assert [c.__name__ for c in classifiers() if c()._unit_test_skips()] == []


def test_every_variant_belongs_to_a_class_there_is():
    assert VARIANTS.keys() <= {classifier.__name__ for classifier in classifiers()}
