"""Laws of the structured perceptron: decoding, averaging, rejections, bytes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from river.base import Base

from perceptron_core import (
    FeatureError,
    LabelError,
    MulticlassPerceptron,
    StructuredPerceptron,
    from_bytes,
    to_bytes,
)
from perceptron_core.structured.perceptron import best_path
from tests.support.example_counts import n_examples

TAGS = ["D", "N", ("V", 1)]

small = st.integers(-4, 4).map(float)
tokens = st.lists(st.sampled_from("abc"), max_size=3) | st.dictionaries(
    st.sampled_from("abc"), st.integers(-2, 2), max_size=3
)
single = st.dictionaries(st.sampled_from("abc"), st.integers(-2, 2))
pairs = st.lists(st.tuples(tokens, st.sampled_from(TAGS)), max_size=4)
corpora = st.lists(pairs.map(lambda pair: ([x for x, _ in pair], [tag for _, tag in pair])), max_size=8)


def trained(model, corpus):
    for xs, tags in corpus:
        model.learn_one(xs, tags)
    return model


def entries(model):
    """Return all weights; those of moves between tags are marked with an arrow."""
    return model.weights | {("→", *move): weight for move, weight in model.transitions.items()}


def score(model, xs, tags):
    """Score a tag sequence by the definition, from the weights that predict."""
    weights, transitions = model.weights, model.transitions
    total = 0.0
    for before, token, tag in zip([None, *tags], xs, tags, strict=False):
        values = token.items() if isinstance(token, dict) else [(name, 1.0) for name in token]
        total += sum(value * weights.get((name, tag), 0.0) for name, value in values)
        total += transitions.get((before, tag), 0.0)
    return total


@given(st.data(), st.integers(1, 5), st.integers(1, 3))
def test_viterbi_finds_the_best_of_all_paths(data, n_positions, n_states):
    def matrix(*shape):
        size = math.prod(shape)
        return np.array(data.draw(st.lists(small, min_size=size, max_size=size))).reshape(shape)

    emissions, transitions = matrix(n_positions, n_states), matrix(n_states, n_states)
    start = matrix(n_states)

    def total(path):
        moves = sum(transitions[a, b] for a, b in itertools.pairwise(path))
        return start[path[0]] + moves + sum(emissions[i, s] for i, s in enumerate(path))

    paths = list(itertools.product(range(n_states), repeat=n_positions))
    best = max(map(total, paths))
    winners = [list(path) for path in paths if total(path) == best]
    found = best_path(emissions, transitions, start)
    assert found in winners
    assert found[::-1] == min(path[::-1] for path in winners)  # a tie goes to the lower state, from the end


@given(corpora, st.lists(tokens, min_size=1, max_size=4))
def test_prediction_scores_highest_of_all_tag_sequences(corpus, xs):
    model = trained(StructuredPerceptron(TAGS, averaged=False), corpus)
    best = max(score(model, xs, tags) for tags in itertools.product(TAGS, repeat=len(xs)))
    assert score(model, xs, model.predict_one(xs)) == best


@given(corpora)
def test_average_is_the_mean_of_the_iterates(corpus):
    last, averaged = StructuredPerceptron(TAGS, averaged=False), StructuredPerceptron(TAGS)
    sums = {}
    for xs, tags in corpus:
        trained(last, [(xs, tags)])
        trained(averaged, [(xs, tags)])
        for entry, weight in entries(last).items():
            sums[entry] = sums.get(entry, 0) + Fraction(weight)
    assert entries(averaged) == {entry: float(total / len(corpus)) for entry, total in sums.items() if total}


@given(corpora)
def test_sequence_already_right_writes_nothing(corpus):
    model = StructuredPerceptron(TAGS, averaged=False)
    for xs, tags in corpus:
        before, right = entries(model), model.predict_one(xs) == tags
        n_mistakes, n_updates = model.n_mistakes, model.n_updates
        model.learn_one(xs, tags)
        assert (model.n_mistakes - n_mistakes, model.n_updates - n_updates) == (not right, not right)
        if right:
            assert entries(model) == before


@given(
    st.lists(st.tuples(st.dictionaries(st.sampled_from("abc"), st.integers(-2, 2)), st.sampled_from(TAGS)))
)
def test_sequences_of_one_position_are_examples_of_the_multiclass_perceptron(stream):
    """The move from the start to a tag is that tag's bias."""
    structured, multiclass = StructuredPerceptron(TAGS, averaged=False), MulticlassPerceptron(TAGS)
    for x, tag in stream:
        assert structured.predict_one([x]) == [multiclass.predict_one(x)]
        structured.learn_one([x], [tag])
        multiclass.learn_one(x, tag)
    assert structured.transitions == {(None, tag): b for tag, b in multiclass.bias.items() if b}
    assert structured.n_mistakes == multiclass.n_mistakes


@given(corpora)
def test_on_separable_sequences_mistakes_stay_below_the_bound_of_collins(corpus):
    truth = trained(StructuredPerceptron(TAGS, averaged=False), corpus)
    squared_length = sum(weight * weight for weight in entries(truth).values())
    labelled, margins = [], []
    for xs, _ in corpus:
        *_, second, best = [None, *sorted(_sequences(xs), key=lambda tags: score(truth, xs, tags))]
        if second and score(truth, xs, best) > score(truth, xs, second):
            labelled.append((xs, list(best)))
            margins.append(score(truth, xs, best) - score(truth, xs, second))
    if not labelled:
        return
    squared_radius = max(
        _squared_distance(xs, tags, other) for xs, tags in labelled for other in _sequences(xs)
    )
    model = trained(StructuredPerceptron(TAGS, averaged=False), labelled * 20)
    assert model.n_mistakes <= squared_radius * squared_length / min(margins) ** 2


def _sequences(xs):
    return itertools.product(TAGS, repeat=len(xs))


def _squared_distance(xs, tags, other):
    counts = {}
    for sequence, sign in ((tags, 1), (other, -1)):
        for before, token, tag in zip([None, *sequence], xs, sequence, strict=False):
            values = token.items() if isinstance(token, dict) else [(name, 1) for name in token]
            for entry, value in [*(((name, tag), v) for name, v in values), (("→", before, tag), 1)]:
                counts[entry] = counts.get(entry, 0) + sign * value
    return sum(value * value for value in counts.values())


@pytest.mark.parametrize("averaged", [True, False])
@given(first=corpora, second=corpora, given_tags=st.sampled_from([None, TAGS]))
@hypothesis_settings(max_examples=n_examples(50))
def test_model_from_bytes_continues_identically(averaged, first, second, given_tags):
    model = trained(StructuredPerceptron(given_tags, averaged), first)
    restored = from_bytes(to_bytes(model))
    assert repr(restored) == repr(model)
    assert entries(restored) == entries(model)
    assert to_bytes(trained(restored, second)) == to_bytes(trained(model, second))


def test_model_grows_beyond_its_first_tables():
    corpus = [([[f"f{n}", f"g{n % 7}"], ["x"]], [f"T{n % 30}", "O"]) for n in range(200)]
    model = trained(StructuredPerceptron(), corpus * 5)
    assert all(model.predict_one(xs) == tags for xs, tags in corpus)
    assert from_bytes(to_bytes(model)).weights == model.weights


@pytest.mark.parametrize(
    ("xs", "tags", "error"),
    [
        ([["a"]], [], LabelError),
        ([["a"]], ["D", "N"], LabelError),
        ([["a"]], ["X"], LabelError),
        ([["a"], ["b"]], ["D", ["N"]], LabelError),
        ([["a"]], [None], LabelError),
        ([["a"], {"b": math.nan}], ["D", "N"], FeatureError),
        ([["a"], {"b": 1e101}], ["D", "N"], FeatureError),
        ([["a"], "word"], ["D", "N"], FeatureError),
        ([["a"], [["b"]]], ["D", "N"], FeatureError),
        ([["a"], 3], ["D", "N"], FeatureError),
    ],
)
def test_rejected_examples_leave_no_trace(xs, tags, error):
    model = trained(StructuredPerceptron(TAGS), [([["a"], ["b"]], ["N", "D"])])
    before = to_bytes(model)
    with pytest.raises(error):
        model.learn_one(xs, tags)
    assert to_bytes(model) == before


@pytest.mark.parametrize("tags", [[], "DN", ["D", "D"]])
def test_tags_must_be_different(tags):
    with pytest.raises(ValueError, match="tags: expected different"):
        StructuredPerceptron(tags)


def test_untrained_model_predicts_no_tags():
    assert StructuredPerceptron().predict_one([["a"], []]) == [None, None]
    assert StructuredPerceptron(TAGS).predict_one([["a"], []]) == ["D", "D"]
    assert StructuredPerceptron(TAGS).predict_one([]) == []


def test_tag_seen_for_the_first_time_is_a_mistake():
    model = StructuredPerceptron()
    model.learn_one([["a"]], ["D"])
    assert (model.n_mistakes, model.n_updates, model.n_examples) == (1, 0, 1)


def test_feature_named_twice_counts_twice():
    model = StructuredPerceptron(["X", "Y"], averaged=False)
    model.learn_one([["a", "a"]], ["Y"])
    assert model.weights["a", "Y"] == 2.0


def test_features_without_update_are_not_kept():
    model = trained(StructuredPerceptron(["X", "Y"]), [([["seen"]], ["X"])])
    assert model.weights == {}
    assert model._emissions.state()["keys"] == []


def test_clone_is_untrained_as_in_river():
    model = trained(StructuredPerceptron(TAGS, averaged=False), [([["a"]], ["N"])])
    assert isinstance(model, Base)
    assert (model.clone().n_examples, repr(model.clone())) == (0, repr(model))
