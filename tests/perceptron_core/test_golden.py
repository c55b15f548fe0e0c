"""Files that a former release wrote are read, and the models go on as they would have."""

import pytest

from perceptron_core import from_bytes
from tests.perceptron_core.golden.write import FOLDER, STREAM, taught
from tests.support.binary_learners import LEARNERS


@pytest.mark.parametrize("name", LEARNERS)
def test_a_file_of_the_first_release_is_read(name):
    model, expected = from_bytes((FOLDER / f"{name}.bin").read_bytes()), taught(name)
    assert type(model) is type(expected)
    assert repr(model) == repr(expected)
    for x, y in STREAM:
        assert model.score_one(x) == pytest.approx(expected.score_one(x), rel=1e-12, abs=1e-12)
        model.learn_one(x, y)
        expected.learn_one(x, y)
    assert (model.n_mistakes, model.n_updates) == (expected.n_mistakes, expected.n_updates)


def test_every_file_is_read_by_a_test():
    assert {path.stem for path in FOLDER.glob("*.bin")} == LEARNERS.keys()
