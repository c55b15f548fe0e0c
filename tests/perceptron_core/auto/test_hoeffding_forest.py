"""`HoeffdingForest` as a learner of its own, and among those of `AutoClassifier`."""

import random
import zlib

import pytest

from perceptron_core import DamagedError, HoeffdingForest, from_bytes, to_bytes
from perceptron_core.formats.packed import pack, seal, unpack, unseal
from perceptron_core.trees import N_TREES
from tests.perceptron_core.auto.laws import taught, thresholds


def test_forest_learns_a_class_that_appears_late():
    model = taught(HoeffdingForest(), thresholds(400))
    taught(model, [({"a": 5.0 + k / 100, "b": 0.0}, "late") for k in range(300)])
    assert model.predict_one({"a": 6.0, "b": 0.0}) == "late"


def test_rare_values_beyond_the_limit_share_a_code():
    draw, model = random.Random(5), HoeffdingForest()
    for _ in range(600):
        value = f"v{draw.randrange(100)}"
        model.learn_one({"kind": value, "n": 0.5}, len(value) < 3)
    assert len(model.maps.categories.codes[0]) == 62


def test_text_of_many_values_is_not_a_category():
    model = HoeffdingForest()
    for n in range(200):
        model.learn_one({"id": f"number {n}"}, n % 2 == 0)
    assert model.maps.categories.chosen == []


def test_trees_wider_than_an_event_are_rejected():
    data = to_bytes(taught(HoeffdingForest(max_columns=2), thresholds(10)))
    version, body = unseal(b"perceptron-model", range(1, 3), data)
    name, parameters, state = unpack(body)
    trees = state["maps"]["trees"]
    leaves = {**trees["leaves"], "shape": [5, 2], "cells": zlib.compress(bytes(2 * N_TREES * 5 * 64 * 2))}
    trees = {**trees, "features": [[0, 1, 2, 3, 0]] * N_TREES, "leaves": leaves}
    altered = [name, parameters, {**state, "maps": {**state["maps"], "trees": trees}}]
    with pytest.raises(DamagedError, match=f"{N_TREES} leaves of 5 features"):
        from_bytes(seal(b"perceptron-model", version, pack(altered)))


@pytest.mark.parametrize("part", ["tests", "features"])
def test_trees_on_unseen_features_are_rejected(part):
    *content, state = unpack(
        unseal(b"perceptron-model", range(1, 3), to_bytes(taught(HoeffdingForest(), thresholds(500))))[1]
    )
    trees = state["maps"]["trees"]
    found = trees[part]
    other = [30 if test else 0 for test in found] if part == "tests" else [[29, *each[1:]] for each in found]
    altered = [*content, {**state, "maps": {**state["maps"], "trees": {**trees, part: other}}}]
    with pytest.raises(DamagedError, match=r"trees use unknown bins \[29\]"):
        from_bytes(seal(b"perceptron-model", 1, pack(altered)))
