"""Whatever a feature's own code does to the model in the middle of a call, memory stays sound."""

import contextlib
import math

import pytest

from perceptron_core import MulticlassPerceptron, Perceptron
from tests.support.learners import LINEAR

MANY = {f"f{k}": 1.0 + k % 3 for k in range(5000)}


class Meddler:
    """A value, or a name, that empties the model whenever it is asked something."""

    def __init__(self, empty):
        self.empty = empty

    def __float__(self):
        self.empty()
        return 1.0

    def __hash__(self):
        return 5

    def __eq__(self, other):
        self.empty()
        return self is other


def emptier(model):
    def empty():
        for what in ("variances", "current_weights", "weights"):
            with contextlib.suppress(AttributeError):  # no such weights, or none that can be set
                setattr(model, what, {})

    return empty


def trained(name):
    model = LINEAR[name].clone()
    for _ in range(2):
        model.learn_one(MANY, not model.predict_one(MANY))
    return model


@pytest.mark.parametrize("name", [name for name in LINEAR if "full" not in name])
def test_value_that_empties_the_model_is_harmless(name):
    model = trained(name)
    x = MANY | {"last": Meddler(emptier(model))}
    for y in (True, False, True):
        assert math.isfinite(model.score_one(x))
        model.learn_one(x, y)
        model.predict_one(MANY)


@pytest.mark.parametrize("name", ["perceptron", "passive-aggressive", "arow", "averaged-perceptron"])
def test_name_that_empties_the_model_during_lookup_is_harmless(name):
    model = trained(name)
    empty = emptier(model)
    for _ in range(3):
        for y in (True, False):
            model.learn_one(MANY | {Meddler(empty): 1.0, Meddler(empty): 2.0}, y)
    assert math.isfinite(model.score_one(MANY))


def test_score_uses_the_weights_after_all_values_are_read():
    model = Perceptron()
    model.learn_one({"a": 1.0, "b": 2.0}, True)

    def replace():
        model.weights = {"b": 7.0, "a": 3.0}

    assert model.score_one({"a": 1.0, "b": 1.0, "c": Meddler(replace)}) == 1.0 + 3.0 + 7.0


def test_multiclass_model_reset_during_reading_raises():
    model = MulticlassPerceptron()
    for label in ("ant", "bee"):
        model.learn_one(MANY, label)
    x = MANY | {"last": Meddler(lambda: model._set_state(MulticlassPerceptron()._get_state()))}
    with pytest.raises(RuntimeError, match="was cleared"):
        model.predict_one(x)
    assert model.predict_one(MANY) is None
