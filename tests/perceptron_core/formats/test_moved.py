"""Pickles that name modules as release 0.1.0 did."""

import importlib
import pickle

import pytest

import perceptron_core
from perceptron_core.formats.moved import _MOVED, unpickle

BEFORE = b"cperceptron_core.perceptron\nPerceptron\n."


def test_a_class_that_has_moved_is_found():
    assert unpickle(BEFORE) is perceptron_core.Perceptron


def test_a_class_of_today_is_found():
    assert unpickle(pickle.dumps(perceptron_core.AROW)) is perceptron_core.AROW


@pytest.mark.parametrize("module", list(_MOVED.values()))
def test_what_has_moved_is_there(module):
    assert importlib.import_module(f"perceptron_core.{module}")
