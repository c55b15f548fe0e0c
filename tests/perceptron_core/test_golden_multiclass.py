"""Files that a former release wrote are read, and the models of several classes go on as they would have."""

import pytest

from perceptron_core import from_bytes
from tests.perceptron_core.golden_multiclass.write import (
    FOLDER,
    MULTICLASS,
    SENTENCES,
    STREAM,
    STRUCTURED,
    taught,
    taught_structured,
)


@pytest.mark.parametrize("name", MULTICLASS)
def test_a_file_of_the_first_release_is_read(name):
    model, expected = from_bytes((FOLDER / f"{name}.bin").read_bytes()), taught(name)
    assert repr(model) == repr(expected)
    assert [*map(type, model.bias)] == [*map(type, expected.bias)]
    for x, y in STREAM:
        assert model.scores_one(x) == pytest.approx(expected.scores_one(x), rel=1e-12, abs=1e-12)
        model.learn_one(x, y)
        expected.learn_one(x, y)
    assert (model.n_mistakes, model.n_updates) == (expected.n_mistakes, expected.n_updates)


def test_a_structured_perceptron_of_the_first_release_is_read():
    model, expected = from_bytes((FOLDER / f"{STRUCTURED}.bin").read_bytes()), taught_structured()
    assert repr(model) == repr(expected)
    for xs, tags in SENTENCES:
        assert model.predict_one(xs) == expected.predict_one(xs)
        model.learn_one(xs, tags)
        expected.learn_one(xs, tags)
    assert (model.weights, model.transitions) == (expected.weights, expected.transitions)
    assert (model.n_mistakes, model.n_updates) == (expected.n_mistakes, expected.n_updates)


def test_every_file_is_read_by_a_test():
    assert {path.stem for path in FOLDER.glob("*.bin")} == {*MULTICLASS, STRUCTURED}
