"""`--model auto` as the service drives it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import compose, ensemble, linear_model, naive_bayes, preprocessing, tree

from perceptron_core import (
    AROW,
    AutoClassifier,
    BatchPerceptron,
    CoinBetting,
    DamagedError,
    HashedClassifier,
    Mixture,
    MulticlassPerceptron,
    Perceptron,
    StructuredPerceptron,
    VotedPerceptron,
    to_bytes,
)
from perceptron_core.formats.model_bytes import learners
from perceptron_core.linear.binary import BinaryClassifier
from service.errors import ConfigurationError
from service.models.core import BinaryLearner
from service.models.learner import takes_weights
from service.models.registry import BUILT_IN, make_learner
from service.partition.examples import probability_of


class Opposite(Perceptron):
    def decide(self, score):
        return not super().decide(score)


@pytest.mark.parametrize("model", [VotedPerceptron(), Opposite()])
def test_learner_that_overrides_predictions_has_no_linear_rule(model):
    assert BinaryLearner(model).rule is None


def test_hashed_learner_has_the_rule_of_its_learner():
    model = HashedClassifier(Perceptron(), bits=4)
    assert BinaryLearner(model).rule is model.learner


EVENTS = [({"n": float(k % 7), "note": "win a prize" if k % 3 else "see you"}, k % 3 > 0) for k in range(60)]


def test_two_class_score_is_the_signed_log_odds():
    learner = make_learner("auto", {})
    for x, y in EVENTS:
        learner.learn(x, y)
    for x, _ in EVENTS:
        predicted, score = learner.assess(x)
        assert predicted is (score > 0)
        assert learner.model.predict_proba_one(x)[predicted] >= 0.5


def test_multiclass_score_is_the_predicted_classs_log_odds():
    learner = make_learner("auto", {}, ("a", "b", "c"))
    assert learner.assess({"n": 1.0}) == ("a", pytest.approx(-0.6931, abs=1e-3))
    for number, (x, _) in enumerate(EVENTS):
        learner.learn(x, "abc"[number % 3])
    x, _ = EVENTS[0]
    predicted, score = learner.assess(x)
    odds = [learner.score(x, label) for label in "abc"]
    assert predicted == "abc"[odds.index(max(odds))]
    assert score == max(odds)


def test_auto_hash_bits_parameter_overrides_the_setting():
    assert make_learner("auto", {}, hash_bits=12).model.hash_bits == 12
    assert make_learner("auto", {"hash_bits": 13}, hash_bits=12).model.hash_bits == 13


def test_auto_cannot_undo_an_update():
    assert make_learner("auto", {}).undo({"n": 1.0}, True) is False


def test_other_classes_than_the_settings_are_rejected():
    with pytest.raises(ConfigurationError, match="classes"):
        make_learner("auto", {"classes": ("a", "b", "c")}, ("a", "b", "d"))


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
def test_model_of_another_kind_is_damaged(model, other):
    with pytest.raises(DamagedError, match="expected a "):
        make_learner(model, {}).load(to_bytes(other))


@pytest.mark.parametrize("other", [Perceptron(), HashedClassifier(Perceptron(), bits=4)])
@pytest.mark.parametrize("hash_bits", [0, 4])
def test_hashed_learner_loads_state_of_unhashed_model(hash_bits, other):
    make_learner("perceptron", {}, hash_bits=hash_bits).load(to_bytes(other))


scores = st.floats(-700, 700)


@given(scores)
def test_two_class_probability_agrees_with_the_sign_of_the_score(score):
    expected = CoinBetting()._probabilities(score)[score > 0]
    assert probability_of(score > 0, score) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("hash_bits", [0, 10])
def test_built_in_model_has_log_odds_like_its_learner(hash_bits):
    for name, cls in BUILT_IN.items():
        expected = getattr(cls(), "has_log_odds", False)
        assert make_learner(name, {}, hash_bits=hash_bits).has_log_odds == expected, name


def test_normalized_adagrad_of_the_hinge_loss_has_no_log_odds():
    assert not make_learner("normalized-adagrad", {"loss": "hinge"}).has_log_odds


def test_river_models_have_no_log_odds():
    assert not make_learner("river.linear_model:LogisticRegression", {}).has_log_odds


def test_every_built_in_model_takes_weights():
    assert [name for name in learners() if not make_learner(name, {}).takes_weights] == []
    assert takes_weights(HashedClassifier(AROW(), 8))


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        (linear_model.LogisticRegression(), True),
        (tree.HoeffdingTreeClassifier(), True),
        (naive_bayes.GaussianNB(), False),
        (linear_model.ALMAClassifier(), False),
        (ensemble.ADWINBaggingClassifier(naive_bayes.GaussianNB()), False),
        (compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()), True),
        (compose.Pipeline(preprocessing.StandardScaler(), naive_bayes.GaussianNB()), False),
        (Mixture([Perceptron(), linear_model.LogisticRegression()]), True),
        (Mixture([Perceptron(), naive_bayes.GaussianNB()]), False),
    ],
    ids=lambda each: type(each).__name__,
)
def test_pipeline_takes_weights_if_its_last_step_does(model, takes):
    assert takes_weights(model) is takes


def test_learner_without_declaration_takes_no_weights():
    class Silent(BinaryClassifier):
        def score_one(self, x):
            return 0.0

        def update_one(self, x, y, w=1.0):
            return 0.0

    assert not takes_weights(Silent())
