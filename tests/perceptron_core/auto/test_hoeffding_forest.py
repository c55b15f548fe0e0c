"""`HoeffdingForest` as a learner of its own, and among those of `AutoClassifier`."""

import copy
import pickle
import random
import zlib

import pytest

from perceptron_core import AutoClassifier, DamagedError, HoeffdingForest, from_bytes, to_bytes
from perceptron_core.formats.packed import pack, seal, unpack, unseal
from perceptron_core.trees import N_TREES
from tests.perceptron_core.auto.laws import (
    KINDS,
    check_a_copy_goes_on,
    check_a_prediction_changes_nothing,
    check_altered_state_is_refused_or_goes_on,
    check_it_goes_on_from_bytes,
    mistakes,
    taught,
)


def stream(n, n_classes=2, seed=1):
    """Make events of two numbers, a category, a boolean and a text, some missing, of classes by a tree."""
    draw, labels = random.Random(seed), KINDS[n_classes]
    for _ in range(n):
        x = {
            "a": draw.random(),
            "b": draw.gauss(0, 100),
            "kind": draw.choice("uvwxyz"),
            "on": draw.random() < 0.5,
            "note": "see you at noon, in front of the old station",
        }
        y = labels[int(x["a"] > 0.4) + (x["kind"] in "uxz") * (n_classes - 2) if x["on"] else 0]
        if draw.random() < 0.1:
            del x[draw.choice(["a", "kind"])]
        yield x, y


@pytest.mark.parametrize("n_classes", KINDS)
def test_it_learns_thresholds_and_categories_together(n_classes):
    model = HoeffdingForest()
    mistakes(model, stream(1200, n_classes))
    assert mistakes(model, stream(400, n_classes, seed=2)) < 0.12 * 400


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize("made", [HoeffdingForest, AutoClassifier])
def test_it_goes_on_from_bytes_as_if_never_written(made, n_classes):
    check_it_goes_on_from_bytes(taught(made(), stream(500, n_classes)), stream(300, n_classes, seed=3))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_as_the_original(copied):
    check_a_copy_goes_on(taught(HoeffdingForest(), stream(400)), copied, [*stream(200, seed=4)])


def test_a_prediction_changes_nothing():
    check_a_prediction_changes_nothing(HoeffdingForest, stream(400), new=1.5, kind="q")


def test_a_class_may_come_late():
    model = taught(HoeffdingForest(), stream(400))
    taught(model, [({"a": 5.0 + k / 100, "b": 0.0}, "late") for k in range(300)])
    assert model.predict_one({"a": 6.0, "b": 0.0}) == "late"


def test_events_without_features_are_answered_by_the_share_of_the_classes():
    model = taught(HoeffdingForest(), [({}, n % 3 > 0) for n in range(100)])
    assert model.predict_proba_one({})[True] > 0.5


def test_values_beyond_those_that_are_told_apart_are_one():
    draw, model = random.Random(5), HoeffdingForest()
    for _ in range(600):
        value = f"v{draw.randrange(100)}"
        model.learn_one({"kind": value, "n": 0.5}, len(value) < 3)
    assert len(model.maps.categories.codes[0]) == 62


def test_a_text_of_many_values_is_no_category():
    model = HoeffdingForest()
    for n in range(200):
        model.learn_one({"id": f"number {n}"}, n % 2 == 0)
    assert model.maps.categories.chosen == []


def test_low_effort_grows_no_trees():
    model = taught(AutoClassifier(effort="low"), stream(100))
    assert "forest" not in model.groups
    assert "trees" not in to_bytes(model).decode("latin-1")


def test_it_refuses_an_effort_that_there_is_not():
    with pytest.raises(ValueError, match="effort must be one of low, high"):
        AutoClassifier(effort="much")


@pytest.mark.parametrize(
    "name", ["tests", "children", "masks", "votes", "n_nodes", "features", "leaves", "drift"]
)
def test_altered_trees_are_refused_or_go_on(name):
    model, events = taught(HoeffdingForest(), stream(500)), [*stream(50, seed=6)]
    check_altered_state_is_refused_or_goes_on(model, "trees", name, _altered, events, times=20)


def test_trees_wider_than_an_event_are_refused():
    data = to_bytes(taught(HoeffdingForest(max_columns=2), stream(10)))
    version, body = unseal(b"perceptron-model", range(1, 3), data)
    name, parameters, state = unpack(body)
    trees = state["maps"]["trees"]
    leaves = {**trees["leaves"], "shape": [5, 2], "cells": zlib.compress(bytes(2 * N_TREES * 5 * 64 * 2))}
    trees = {**trees, "features": [[0, 1, 2, 3, 0]] * N_TREES, "leaves": leaves}
    altered = [name, parameters, {**state, "maps": {**state["maps"], "trees": trees}}]
    with pytest.raises(DamagedError, match=f"{N_TREES} leaves of 5 features"):
        from_bytes(seal(b"perceptron-model", version, pack(altered)))


@pytest.mark.parametrize("part", ["tests", "features"])
def test_trees_on_what_no_event_had_are_refused(part):
    *content, state = unpack(
        unseal(b"perceptron-model", range(1, 3), to_bytes(taught(HoeffdingForest(), stream(500))))[1]
    )
    trees = state["maps"]["trees"]
    found = trees[part]
    other = [30 if test else 0 for test in found] if part == "tests" else [[29, *each[1:]] for each in found]
    altered = [*content, {**state, "maps": {**state["maps"], "trees": {**trees, part: other}}}]
    with pytest.raises(DamagedError, match=r"trees are grown on the bins \[29\]"):
        from_bytes(seal(b"perceptron-model", 1, pack(altered)))


def _altered(value, draw):
    """Return a value of which one number is another."""
    if isinstance(value, dict):
        name = draw.choice([*value])
        return {**value, name: value[name][:-1] if name == "cells" else _altered(value[name], draw)}
    altered = list(value)
    at = draw.randrange(len(altered))
    old = altered[at]
    altered[at] = (
        (*old, 1000) if isinstance(old, tuple) else draw.choice([0, 1, 7, 999, 1001, -1, 1.5, 2**40])
    )
    return altered
