"""A checkpoint that holds another model than the settings make is refused before an event meets it."""

import pytest

from perceptron_core import (
    AROW,
    AutoClassifier,
    BatchPerceptron,
    DamagedError,
    HashedClassifier,
    MulticlassPerceptron,
    Perceptron,
    StructuredPerceptron,
    to_bytes,
)
from service.models.registry import make_learner

OTHERS = [
    AROW(),
    HashedClassifier(AROW(), bits=4),
    BatchPerceptron(),
    StructuredPerceptron(),
    MulticlassPerceptron(["a", "b"]),
    AutoClassifier(["a", "b"], hash_bits=4),
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: type(other).__name__)
@pytest.mark.parametrize("model", ["perceptron", "multiclass-perceptron", "auto"])
def test_a_model_of_another_kind_is_damaged(model, other):
    with pytest.raises(DamagedError, match="not "):
        make_learner(model, {}).load(to_bytes(other))


@pytest.mark.parametrize("other", [Perceptron(), HashedClassifier(Perceptron(), bits=4)])
@pytest.mark.parametrize("hash_bits", [0, 4])
def test_where_weights_are_kept_makes_a_model_no_other(hash_bits, other):
    make_learner("perceptron", {}, hash_bits=hash_bits).load(to_bytes(other))
