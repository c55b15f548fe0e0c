"""Laws of the multiclass learners, and how they treat labels."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, multiclass, preprocessing

from perceptron_core import (
    AveragedMulticlassPerceptron,
    FeatureError,
    LabelError,
    MulticlassAROW,
    MulticlassPassiveAggressive,
    MulticlassPerceptron,
    PassiveAggressive,
    Perceptron,
    from_bytes,
    to_bytes,
)
from tests.support.example_counts import n_examples
from tests.support.learners import SEVERAL

LEARNERS = [type(model) for name, model in SEVERAL.items() if "(" not in name]
UNDOABLE = [MulticlassPerceptron, AveragedMulticlassPerceptron]
KINDS = ["ant", 7, ("bee", 1), "cow"]

every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)
any_learner = st.sampled_from(LEARNERS)

counts = st.dictionaries(st.sampled_from("abcd"), st.integers(-3, 3), max_size=4)
decimals = st.floats(-10, 10).map(lambda value: round(value, 3))
reals = st.dictionaries(st.sampled_from("abcd"), decimals, min_size=1, max_size=4)
count_streams = st.lists(st.tuples(counts, st.sampled_from(KINDS)), max_size=30)


def real_streams(labels):
    return st.lists(st.tuples(reals, st.sampled_from(labels)), max_size=30)


def trained(model, stream):
    for x, y in stream:
        model.learn_one(x, y)
    return model


def state(model):
    return to_bytes(model)


@given(real_streams([False, True]), st.booleans(), st.booleans())
def test_two_class_multiclass_perceptron_predicts_like_the_binary_one(stream, tie, fit_intercept):
    binary = Perceptron(tie=tie, update_on_tie=False, fit_intercept=fit_intercept)
    ours = MulticlassPerceptron(classes=[tie, not tie], fit_intercept=fit_intercept)
    for x, y in stream:
        assert ours.predict_one(x) == binary.predict_one(x)
        binary.learn_one(x, y)
        ours.learn_one(x, y)
    assert (ours.n_mistakes, ours.n_updates) == (binary.n_mistakes, binary.n_updates)
    assert ours.weights[True] == binary.weights
    assert ours.weights[False] == {name: -weight for name, weight in binary.weights.items()}


@given(
    real_streams([False, True]), st.sampled_from(["PA", "PA-I", "PA-II"]), st.floats(0.01, 10), st.booleans()
)
def test_two_class_passive_aggressive_equals_binary_with_twice_c(stream, variant, c, fit_intercept):
    binary = trained(PassiveAggressive(2 * c, variant, fit_intercept), stream)
    ours = trained(MulticlassPassiveAggressive([False, True], c, variant, fit_intercept), stream)
    for x, _ in stream:
        scores = ours.scores_one(x)
        assert scores[True] - scores[False] == pytest.approx(binary.score_one(x), rel=1e-6, abs=1e-6)


@given(count_streams, st.booleans())
def test_average_is_the_mean_of_the_iterates(stream, fit_intercept):
    model = AveragedMulticlassPerceptron(KINDS, fit_intercept)
    sums = dict.fromkeys([(kind, name) for kind in KINDS for name in "abcd"], Fraction(0))
    for x, y in stream:
        model.learn_one(x, y)
        for kind, name in sums:
            sums[kind, name] += Fraction(model.current_weights[kind].get(name, 0.0))
    weights = model.weights
    for (kind, name), total in sums.items():
        assert weights[kind].get(name, 0.0) == float(total / max(len(stream), 1))


@given(real_streams(KINDS), reals, st.sampled_from(KINDS), st.booleans())
def test_passive_aggressive_leaves_a_margin_of_one(stream, x, y, fit_intercept):
    model = trained(MulticlassPassiveAggressive(KINDS, variant="PA", fit_intercept=fit_intercept), stream)
    before = model.scores_one(x)
    step = model.update_one(x, y)
    if step is None:
        return
    after = model.scores_one(x)
    size = max(map(abs, [*before.values(), 1.0]))
    if sum(value**2 for value in x.values()) > 1e-6 or fit_intercept:
        assert after[y] - after[step.lost] == pytest.approx(1.0, abs=1e-6 * size)


def test_first_step_of_arow_worked_by_hand():
    model = MulticlassAROW(["a", "b", "c"], r=2.0)
    model.learn_one({"u": 2.0}, "b")  # v = 2·(4 + 1), β = 1/12, α = 1/12
    assert model.weights == {"a": {"u": -2 / 12}, "b": {"u": 2 / 12}, "c": {}}
    assert model.bias == {"a": -1 / 12, "b": 1 / 12, "c": 0.0}
    assert model.variances["a"] == {"u": pytest.approx(1 - 4 / 12)} == model.variances["b"]
    assert model.bias_variance == {"a": pytest.approx(11 / 12), "b": pytest.approx(11 / 12), "c": 1.0}


@given(learner=st.sampled_from(UNDOABLE), stream=count_streams, at=st.integers(0, 29))
def test_undone_update_leaves_the_sum_of_other_updates(learner, stream, at):
    model = learner(KINDS)
    steps = [(x, model.update_one(x, y)) for x, y in stream]
    if at >= len(steps):
        return
    model.undo_one(*steps[at])
    expected = learner(KINDS)
    for number, (x, step) in enumerate(steps):
        if step is not None and number != at:
            expected.undo_one(x, step._replace(size=-step.size))
    expected.n_examples = model.n_examples = len(stream)
    assert (model.weights, model.bias) == (expected.weights, expected.bias)


@settings(max_examples=n_examples(150))
@given(learner=any_learner, stream=real_streams(KINDS))
def test_predict_learn_equals_scores_one_then_update_one(learner, stream):
    one, other = learner(), learner()
    for x, y in stream:
        assert one.predict_learn(x, y) == (other.scores_one(x), other.update_one(x, y))
    assert state(one) == state(other)


@every_learner
def test_untrained_model_predicts_none_or_the_first_class(learner):
    assert learner().predict_one({"a": 1.0}) is None
    assert learner().predict_proba_one({"a": 1.0}) == {}
    assert learner(classes=["z", "y"]).predict_one({"a": 1.0}) == "z"


@every_learner
def test_ties_go_to_the_first_seen_class(learner):
    model = learner()
    for kind in KINDS:
        model.learn_one({}, kind, w=1e-9)
    assert list(model.predict_proba_one({})) == KINDS
    assert MulticlassPerceptron.decide({"b": 1.0, "a": 1.0}) == "b"


@every_learner
def test_first_example_of_a_class_is_a_mistake(learner):
    model = trained(learner(), [({"a": 1.0}, "x")])
    assert (model.n_mistakes, model.n_updates, model.predict_one({})) == (1, 0, "x")


@every_learner
def test_rejected_examples_leave_no_trace(learner):
    model = trained(learner(KINDS), [({"a": 1.0, "b": 2.0}, "cow")])
    before = state(model)
    for x in ({"a": math.nan}, {"b": 1.0, "a": "red"}, {"a": 1e101}):
        with pytest.raises(FeatureError):
            model.learn_one(x, "ant")
    for label in ("antelope", ["ant"], None):
        with pytest.raises(LabelError):
            model.learn_one({"a": 1.0}, label)
    assert state(model) == before


@every_learner
def test_invalid_weight_is_rejected(learner):
    for weight in (-1.0, math.nan, math.inf, "1", None):
        with pytest.raises(ValueError, match="weight of an example"):
            learner(KINDS).learn_one({"a": 1.0}, "cow", w=weight)


@every_learner
def test_classes_must_be_two_or_more_and_different(learner):
    for classes in ([], ["one"], ["a", "a"], "abc", ["a", None], ["a", math.nan]):
        with pytest.raises(ValueError, match="classes: expected two or more"):
            learner(classes)


@every_learner
def test_labels_of_numpy_equal_labels_of_python(learner):
    model = trained(learner(), [({"a": 1.0}, np.int64(1)), ({"a": -1.0}, 2), ({"b": 1.0}, np.str_("c"))])
    assert [type(label) for label in model.bias] == [int, int, str]
    assert from_bytes(to_bytes(model)).bias == model.bias


@settings(max_examples=n_examples(150))
@given(learner=any_learner, stream=real_streams(KINDS), x=reals)
def test_probabilities_sum_to_one_and_agree_with_the_prediction(learner, stream, x):
    model = trained(learner(KINDS), stream)
    probabilities = model.predict_proba_one(x)
    assert sum(probabilities.values()) == pytest.approx(1.0)
    assert probabilities[model.predict_one(x)] == max(probabilities.values())


@settings(max_examples=n_examples(150))
@given(
    learner=any_learner,
    stream=st.lists(st.tuples(st.dictionaries(st.sampled_from("ab"), st.floats()), st.sampled_from(KINDS))),
)
def test_scores_are_always_finite(learner, stream):
    model = learner(KINDS)
    for x, y in stream:
        try:
            model.learn_one(x, y)
        except FeatureError:
            continue
        assert all(map(math.isfinite, model.scores_one(x).values()))


@every_learner
def test_image_segments_are_learned_better_than_one_vs_rest(learner):
    def accuracy(classifier):
        pipeline, right = preprocessing.StandardScaler() | classifier, 0
        for x, y in datasets.ImageSegments():
            right += pipeline.predict_one(x) == y
            pipeline.learn_one(x, y)
        return right / 2310

    assert accuracy(learner()) > accuracy(multiclass.OneVsRestClassifier(Perceptron()))


def test_debug_one_explains_the_predicted_class():
    model = trained(MulticlassPerceptron(), [({"a": 1.0}, "x"), ({"b": 2.0}, "y")])
    assert model.debug_one({"b": 3.0}).splitlines()[0] == "Class 'y'"
    assert "6.00000" in model.debug_one({"b": 3.0})
    assert MulticlassPerceptron().debug_one({}) == "no class is known"
