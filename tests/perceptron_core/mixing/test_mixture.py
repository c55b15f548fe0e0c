"""The mixture: its experts, its mixers, its leader; linear/test_binary.py claims what all learners do."""

import copy
import math
import pickle
from array import array

import pytest
from hypothesis import given, settings
from river import base, dummy, linear_model, naive_bayes, preprocessing

from perceptron_core import (
    AROW,
    SCW,
    FeatureError,
    HashedClassifier,
    KernelPerceptron,
    LogisticRegression,
    Mixture,
    Perceptron,
    to_bytes,
)
from perceptron_core.mixing.mixer import Mixer
from tests.support.example_counts import n_examples
from tests.support.learners import TWO_CLASS, any_of, examples, learn, streams

ONES = {name: model for name, model in TWO_CLASS.items() if not name.startswith("mixture")}


def rivers():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def regression():
    return preprocessing.StandardScaler() | linear_model.LinearRegression()


def mixed():
    return Mixture([AROW(), rivers(), naive_bayes.GaussianNB()])


def scores(model, stream):
    """Run prequentially; return all scores."""
    return [model.predict_learn(x, y)[0] for x, y in stream]


def clip(z):
    return max(-8.0, min(z, 8.0))


@given(stream=streams)
def test_mixture_equals_its_experts_and_mixers_computed_separately(stream):
    model = Mixture([AROW(), LogisticRegression(0.5), Perceptron(threshold=0.5)], discount=0.9)
    arow, logistic, perceptron = AROW(), LogisticRegression(0.5), Perceptron(threshold=0.5)
    mixers = [Mixer(0.1, 0.999), Mixer(0.02, 1.0)]
    for mixer in mixers:
        for _ in range(3):
            mixer.add_input(1 / 3)
    losses, mistakes = [0.0] * 3, 0
    for x, y in stream:
        z = [
            clip(4 * arow.score_one(x)),
            clip(logistic.score_one(x)),
            clip(4 * (perceptron.score_one(x) - 0.5)),
        ]
        predictions = [mixer.mix(array("d", z)) for mixer in mixers]
        candidates = [*predictions, z[0]]
        leader = losses.index(min(losses))
        assert model.leader == leader
        assert model.score_one(x) == candidates[leader]
        model.learn_one(x, y)
        for expert in (arow, logistic, perceptron):
            expert.learn_one(x, y)
        for mixer, prediction in zip(mixers, predictions, strict=True):
            mixer.learn(array("d", z), y, 1.0, prediction)
        mistakes += (candidates[leader] > 0) != y
        losses = [0.9 * loss + ((a > 0) != y) for loss, a in zip(losses, candidates, strict=True)]
    assert model.n_mistakes == mistakes
    weights = [mixer.weights for mixer in mixers]
    assert [status.weights for status in model.expert_statuses] == [*zip(*weights, strict=True)]
    shares = [*weights, [1.0, 0.0, 0.0]][model.leader]
    assert [status.weight for status in model.expert_statuses] == shares


@given(expert=any_of(ONES), stream=streams, x=examples)
@settings(max_examples=n_examples(200))
def test_mixture_of_one_expert_starts_like_the_expert(expert, stream, x):
    learn(expert, stream)
    model = Mixture([copy.deepcopy(expert)])
    log_odds = expert._log_odds(expert.score_one(x[0]))
    assert model.predict_one(x[0]) == (log_odds > 0)
    assert model.score_one(x[0]) == clip(log_odds if expert.has_log_odds else 4 * log_odds)


@given(stream=streams, more=streams)
@settings(max_examples=n_examples(30))
def test_copy_of_a_mixture_with_river_experts_learns_identically(stream, more):
    model = learn(mixed(), stream)
    copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.clone(include_attributes=True)
    assert [scores(each, more) for each in copies] == [scores(model, more)] * 3


def test_clone_takes_given_parameters_and_keeps_the_rest():
    clone = Mixture([AROW(10.0)], discount=0.5).clone({"discount": 0.9})
    assert (clone.discount, clone.experts[0].r) == (0.9, 10.0)


def test_trained_experts_keep_their_state():
    expert = learn(LogisticRegression(0.5), [({"a": 1.0}, True)] * 9)
    assert Mixture([expert]).score_one({"a": 1.0}) == expert.score_one({"a": 1.0}) > 0


def test_candidate_with_the_fewest_recent_mistakes_leads():
    model = Mixture([dummy.NoChangeClassifier(), Perceptron()], discount=0.5)
    assert model.candidates == ["mixer(0.1, 0.999)", "mixer(0.02, 1)", "NoChangeClassifier"]
    assert model.leader == 0
    for n in range(40):  # long runs, whose class the perceptron without features does not see coming
        model.learn_one({}, n // 10 % 2 == 0)
    first, second = model.expert_statuses
    assert first.mistakes < second.mistakes
    assert first.recent_mistakes == pytest.approx(0.5**9, rel=0.01)


@pytest.mark.parametrize(
    ("probabilities", "z"),
    [
        ({}, 0.0),
        ({True: 1.0, False: 0.0}, 8.0),
        ({False: 1.0}, -8.0),
        ({True: math.nan}, 0.0),
        ({True: 0.75, False: 0.25}, math.log(3)),
    ],
)
def test_probabilities_of_others_become_log_odds(probabilities, z):
    class Sure(base.Classifier):
        def learn_one(self, x, y):
            """Learn nothing."""

        def predict_proba_one(self, x):
            return probabilities

    assert Mixture([Sure()]).score_one({}) == pytest.approx(z)


def test_example_rejected_by_one_expert_is_learned_by_none():
    model = learn(Mixture([AROW(), HashedClassifier(AROW(), bits=4)]), [({1: 1.0}, True)])
    before = to_bytes(model)
    with pytest.raises(FeatureError):
        model.learn_one({99: 1.0}, True)
    assert to_bytes(model) == before


def test_weight_that_an_expert_does_not_take_is_rejected():
    model = Mixture([AROW(), naive_bayes.GaussianNB()])
    with pytest.raises(TypeError, match="GaussianNB does not support example weights"):
        model.learn_one({"a": 1.0}, True, w=2.0)
    assert model.n_updates == model.experts[0].n_updates == 0
    weighted = Mixture([AROW(), rivers()])
    weighted.learn_one({"a": 1.0}, True, w=2.0)
    assert weighted.n_updates == 1


@pytest.mark.parametrize(
    ("parameters", "error", "said"),
    [
        ({"experts": []}, ValueError, "experts: expected 1 to 256, got 0"),
        ({"experts": [Perceptron()] * 2}, ValueError, "got one twice"),
        ({"experts": [preprocessing.StandardScaler()]}, TypeError, "predict_proba_one, got StandardScaler"),
        ({"experts": [linear_model.PARegressor()]}, TypeError, "predict_proba_one, got PARegressor"),
        ({"experts": [regression()]}, TypeError, r"predict_proba_one, got .*LinearRegression"),
        ({"mixers": []}, ValueError, "mixers: expected 1 to 16"),
        ({"mixers": [(0.0, 1.0)]}, ValueError, "variance above 0"),
        ({"mixers": [(0.1, 1.1)]}, ValueError, "forgetting above 0"),
        ({"mixers": [(math.nan, 1.0)]}, ValueError, "variance above 0"),
        ({"discount": 0.0}, ValueError, "discount"),
        ({"discount": math.nan}, ValueError, "discount"),
    ],
)
def test_unsuitable_parameters_are_rejected(parameters, error, said):
    with pytest.raises(error, match=said):
        Mixture(**parameters)


def test_mixture_with_a_river_expert_cannot_be_saved():
    with pytest.raises(TypeError, match=r"experts: StandardScaler \| LogisticRegression \(river\.compose"):
        to_bytes(mixed())


def test_names_show_parameters_other_than_defaults():
    experts = [AROW(r=10.0), HashedClassifier(SCW(C=0.5), bits=8), rivers(), Mixture([SCW(), AROW()])]
    assert [status.name for status in Mixture(experts).expert_statuses] == [
        "AROW(r=10.0)",
        "HashedClassifier(classifier=SCW(C=0.5), bits=8)",
        "StandardScaler | LogisticRegression",
        "Mixture(experts=(SCW, AROW))",
    ]


@given(stream=streams, x=examples)
@settings(max_examples=n_examples(50))
def test_linear_experts_add_up_to_weights(stream, x):
    model = learn(Mixture([AROW(), SCW(), LogisticRegression()]), stream)
    z = [scale * each.score_one(x[0]) for scale, each in zip((4, 4, 1), model.experts, strict=True)]
    total = model.bias + math.fsum(model.weights.get(name, 0.0) * value for name, value in x[0].items())
    expected = math.fsum(s.weight * each for s, each in zip(model.expert_statuses, z, strict=True))
    assert total == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_mixture_with_a_nonlinear_expert_has_no_weights():
    model = Mixture([AROW(), Mixture([KernelPerceptron()])])
    assert not model.is_linear
    assert not hasattr(model, "weights")
    assert not hasattr(model, "bias")


def test_clipped_score_is_shared_out_among_the_features():
    model = Mixture([learn(Perceptron(), [({"a": 3.0, "b": 1.0}, True)] * 5)])
    terms = {name: value * weight for name, value, weight in model._terms({"a": 3.0, "b": 1.0})}
    assert math.fsum(terms.values()) == pytest.approx(8.0)
    assert terms["a"] == pytest.approx(9 * terms["b"])
