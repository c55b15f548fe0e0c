"""Files that a former release wrote are read, and the models continue as they would have."""

import pytest

from perceptron_core import AutoClassifier, StructuredPerceptron, from_bytes
from tests.perceptron_core.golden.write import MIXED, stream_of, taught, written
from tests.support.learners import SEVERAL, TWO_CLASS

FILES = written()


def prediction_of(model, x):
    """Return what a model says to rounding; tags of a sentence as their names."""
    if isinstance(model, StructuredPerceptron):
        return dict.fromkeys(map(repr, enumerate(model.predict_one(x))), 1.0)
    if isinstance(model, AutoClassifier):
        return dict(enumerate(model.log_odds(x)))
    return model.scores_one(x) if hasattr(model, "scores_one") else model.score_one(x)


@pytest.mark.parametrize("name", FILES)
def test_golden_file_is_read_and_predicts_the_same(name):
    model = from_bytes(FILES[name])
    expected = taught(model)
    for x, y in stream_of(model):
        assert prediction_of(model, x) == pytest.approx(prediction_of(expected, x), rel=1e-12, abs=1e-12)
        model.learn_one(x, y)
        expected.learn_one(x, y)
    for kept in ("n_mistakes", "n_updates", "labels", "transitions"):
        assert repr(getattr(model, kept, None)) == repr(getattr(expected, kept, None))


def test_every_learner_with_every_declared_parameter_has_a_file():
    read = {repr(from_bytes(data)) for data in FILES.values()}
    expected = {
        repr(model)
        for model in (*TWO_CLASS.values(), *SEVERAL.values(), *MIXED.values(), StructuredPerceptron())
    }
    assert expected <= read
