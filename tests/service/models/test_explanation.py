import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.auto.explanation import RANDOM_FEATURES
from service.messages.labels import Vocabulary
from service.models.explanation import Method, decide
from service.models.registry import make_learner
from tests.support.learners import SEVERAL, TWO_CLASS

BINARY = [name for name, model in TWO_CLASS.items() if "(" not in name and hasattr(model, "weights")]
X = st.dictionaries(st.sampled_from("abcdef"), st.integers(-5, 5).map(float), max_size=6)


def learned(model, classes, examples):
    learner = make_learner(model, {}, classes)
    truths = Vocabulary(classes).classes or (False, True)
    for n, x in enumerate(examples):
        learner.learn(x, truths[n % len(truths)])
    return learner


@pytest.mark.parametrize(
    ("model", "classes"),
    [*((m, ()) for m in BINARY), *((m, ("u", "v", "w")) for m in SEVERAL if "(" not in m)],
)
@given(examples=st.lists(X, max_size=8), x=X)
def test_linear_score_is_the_sum_of_its_contributions(model, classes, examples, x):
    learner = learned(model, classes, examples)
    predicted, score = learner.assess(x)
    told = decide(learner, x, predicted, score)
    assert told.method is Method.WEIGHTS
    total = math.fsum(each.contribution for each in told.contributions) + told.bias
    assert total == pytest.approx(score, abs=1e-9)
    assert {each.feature for each in told.contributions} == x.keys()


@pytest.mark.parametrize(
    ("model", "classes"), [("perceptron", ()), ("multiclass-perceptron", ("u", "v", "w"))]
)
def test_feature_without_a_weight_is_not_known(model, classes):
    learner = learned(model, classes, [{"a": 1.0}, {"b": 1.0}, {"a": 1.0}])
    x = {"a": 1.0, "new": 1.0}
    told = decide(learner, x, *learner.assess(x))
    assert {each.feature: each.known for each in told.contributions} == {"a": True, "new": False}


def test_feature_with_a_weight_in_any_class_is_known():
    learner = make_learner("multiclass-perceptron", {}, ("u", "v", "w"))
    learner.learn({"a": 1.0}, "v")  # the weights of u and v move, not those of w
    (told,) = decide(learner, {"a": 1.0}, "w", 0.0).contributions
    assert (told.weight, told.known) == (0.0, True)


def test_unseen_word_is_unknown_to_a_mixture():
    learner = learned("auto", (), [{"word": "win"}, {"word": "see"}] * 2)
    x = {"word": "win", "other": "new"}
    told = decide(learner, x, *learner.assess(x))
    assert learner.mixture.is_mixed
    assert {each.feature: each.known for each in told.contributions}.items() >= {
        "word: win": True,
        "other: new": False,
    }.items()


@given(examples=st.lists(X, max_size=8), x=X)
def test_other_models_are_explained_by_leaving_features_out(examples, x):
    learner = learned("kernel-perceptron", (), examples)
    predicted, score = learner.assess(x)
    told = decide(learner, x, predicted, score)
    assert told.method is Method.LEAVING_OUT
    for each in told.contributions:
        rest = {name: value for name, value in x.items() if name != each.feature}
        assert each.contribution == score - learner.assess(rest)[1]
        assert each.known is None


def test_only_the_largest_features_are_left_out_one_by_one():
    learner = make_learner("kernel-perceptron", {})
    x = {f"f{n}": float(n) for n in range(130)}
    told = decide(learner, x, *learner.assess(x))
    assert (len(told.contributions), told.features_not_examined) == (100, 30)
    assert "f129" in {each.feature for each in told.contributions}


def test_wide_events_leave_out_fewer_features():
    learner = make_learner("kernel-perceptron", {}, ())
    learner.learn({"f1": 1.0}, True)
    for n_features, n_examined in ((20_000, 10), (200_001, 0)):
        x = {f"f{n}": 1.0 for n in range(n_features)}
        told = decide(learner, x, *learner.assess(x))
        assert (len(told.contributions), told.features_not_examined) == (n_examined, n_features - n_examined)


def learned_mixture(classes=()):
    learner = make_learner("auto", {}, classes)
    for number in range(400):
        length = number % 17
        note = "win a prize" if number % 3 else "see you"
        third = min(length // 6, 2)  # so that the learners of numbers are needed
        truth = classes[third] if classes else third == 1
        learner.learn({"length": float(length), "loud": number % 5 == 0, "note": note}, truth)
    return learner


@pytest.mark.parametrize("classes", [(), ("a", "b", "c")])
def test_contributions_to_a_mixture_sum_to_its_log_odds(classes):
    learner = learned_mixture(classes)
    x = {"length": 4.0, "loud": True, "note": "win a big prize"}
    predicted, score = learner.assess(x)
    decision = decide(learner, x, predicted, score)
    assert decision.method is Method.MIXTURE
    total = decision.bias + math.fsum(each.contribution for each in decision.contributions)
    assert total == pytest.approx(score, abs=1e-9)
    named = {each.feature for each in decision.contributions}
    assert decision.leader.startswith("mixture")
    assert {"note: prize", "note: win a", "note: 'win '", "loud=True", "length", RANDOM_FEATURES} <= named
    assert ("the other classes" in named) is bool(classes)


def test_mixture_names_its_learners_and_leader():
    decision = decide(learner := learned_mixture(), x := {"length": 4.0}, *learner.assess(x))
    assert decision.leader in learner.model.candidates
    assert {"numbers: BayesianLogistic", "words: CoinBetting"} <= {each.name for each in decision.experts}
