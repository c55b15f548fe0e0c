import pytest

from perceptron_core import Perceptron
from service.errors import ConfigurationError
from service.models import PerceptronLearner, RiverLearner, make_learner

FACTORY = """
from river import compose, linear_model, preprocessing

def build(l2=0.0):
    return compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression(l2=l2))

not_callable = 3
def makes_nothing():
    return None
"""


@pytest.fixture
def factory_file(tmp_path):
    path = tmp_path / "spam_pipeline.py"
    path.write_text(FACTORY, encoding="utf-8")
    return path


def test_a_built_in_name_takes_parameters():
    learner = make_learner("perceptron", {"threshold": 0.5, "tie": True})
    assert isinstance(learner, PerceptronLearner)
    assert repr(learner.model) == repr(Perceptron(threshold=0.5, tie=True))


def test_a_factory_in_a_file_makes_a_river_pipeline(factory_file):
    learner = make_learner(f"{factory_file}:build", {"l2": 0.1})
    assert isinstance(learner, RiverLearner)
    learner.learn({"a": 1.0}, truth=True)
    predicted, score = learner.assess({"a": 1.0})
    assert (predicted, score > 0, learner.updates) == (True, True, 1)


def test_a_factory_in_a_package_makes_a_model_of_ours_like_a_built_in_one():
    assert isinstance(make_learner("perceptron_core:Perceptron", {}), PerceptronLearner)


def test_a_river_classifier_without_probabilities_still_has_a_signed_score():
    learner = make_learner("river.linear_model:ALMAClassifier", {})
    assert learner.assess({"a": 1.0})[0] in {True, False}


@pytest.mark.parametrize(
    ("model", "params", "complaint"),
    [
        ("perceptrn", {}, "no built-in model"),
        ("perceptron", {"treshold": 1}, "model_params: .*treshold"),
        ("perceptron", {"learning_rate": -1}, "learning_rate"),
        ("no.such.module:build", {}, "cannot import"),
        ("river.linear_model:NoSuchModel", {}, "cannot import"),
        ("/no/such/file.py:build", {}, "no such file"),
        ("{file}:not_callable", {}, "no function or class"),
        ("{file}:makes_nothing", {}, "no River classifier"),
    ],
)
def test_a_model_that_cannot_be_made_is_a_clear_error(factory_file, model, params, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        make_learner(model.format(file=factory_file), params)


def test_a_binary_model_refuses_three_classes():
    with pytest.raises(ConfigurationError, match="knows two classes"):
        make_learner("perceptron", {}, ("a", "b", "c"))
