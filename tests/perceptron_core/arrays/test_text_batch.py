"""Texts that are learned in one call are learned as if each had been hashed and learned by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import (
    AROW,
    BayesianLogistic,
    CoinBetting,
    HashedClassifier,
    LabelError,
    LogisticRegression,
    NormalizedAdaGrad,
    Perceptron,
    TextHasher,
    to_bytes,
)
from tests.support.example_counts import n_examples

HASHERS = {
    "fours": TextHasher(10, analyzer="chars", ngrams=(4, 4), l2=True),
    "mixed": TextHasher(10, analyzer="chars", ngrams=(2, 4), counts=True, l2=True),
    "words": TextHasher(9, ngrams=(1, 2)),
}
texts = st.text(st.sampled_from("abAB £é語\u212a\n"), max_size=30)
streams = st.lists(st.tuples(texts | texts.map(str.encode), st.booleans()), max_size=30)
TEXTS, LABELS = ["win a prize", "see you", "", "WIN", "you win"], [True, False, False, True, True]


@pytest.mark.parametrize(
    "learner",
    [Perceptron(), AROW(), NormalizedAdaGrad(), CoinBetting(), BayesianLogistic(), LogisticRegression()],
)
@pytest.mark.parametrize("hasher", HASHERS.values(), ids=HASHERS)
@given(stream=streams)
@settings(max_examples=n_examples(50), deadline=None)
def test_arrays_score_as_dictionaries_bit_for_bit(learner, hasher, stream):
    model, expected = HashedClassifier(learner, 10), HashedClassifier(learner, 10)
    found = model.predict_learn_texts(hasher, [text for text, _ in stream], [label for _, label in stream])
    for (text, label), score, predicted in zip(stream, found.scores, found.classes, strict=True):
        x = hasher.transform_one(text)
        assert score == expected.score_one(x)
        assert predicted == expected.predict_one(x)
        expected.learn_one(x, label)
    assert to_bytes(model) == to_bytes(expected)


def test_text_of_weight_0_is_predicted_and_not_learned():
    model, expected = HashedClassifier(bits=10), HashedClassifier(bits=10)
    hasher = HASHERS["fours"]
    assert len(model.predict_learn_texts(hasher, TEXTS, LABELS, [1, 0, 1, 0, 0]).scores) == 5
    expected.predict_learn_texts(hasher, [TEXTS[0], TEXTS[2]], [LABELS[0], LABELS[2]])
    assert to_bytes(model) == to_bytes(expected)


@pytest.mark.parametrize("bad", [b"\xff", "abc\ud800"])
@pytest.mark.parametrize("at", range(5))
def test_texts_before_an_unhashable_text_are_learned(bad, at):
    model, expected = HashedClassifier(bits=10), HashedClassifier(bits=10)
    hasher = HASHERS["fours"]
    with pytest.raises(UnicodeError):
        model.predict_learn_texts(hasher, [*TEXTS[:at], bad, *TEXTS[at:]], [True, *LABELS])
    expected.predict_learn_texts(hasher, TEXTS[:at], [True, *LABELS][:at])
    assert to_bytes(model) == to_bytes(expected)


def test_rejected_input_changes_nothing():
    model, hasher = HashedClassifier(bits=10), HASHERS["words"]
    for wrong, error, said in [
        (("win", [True]), TypeError, "several texts"),
        (([1], [True]), TypeError, "str or bytes, got int"),
        ((TEXTS, [True]), ValueError, "5 rows, but 1 labels"),
        ((TEXTS, [True, 7, True, True, True]), LabelError, "row 1"),
        ((TEXTS, LABELS, -1.0), ValueError, "weight of an example"),
    ]:
        with pytest.raises(error, match=said):
            model.predict_learn_texts(hasher, *wrong)
    with pytest.raises(ValueError, match="10 bits are more than the model has"):
        HashedClassifier(bits=4).predict_learn_texts(HASHERS["fours"], TEXTS, LABELS)
    assert (model.weights, model.n_updates) == ({}, 0)


def test_text_of_a_subclass_cannot_change_the_hasher():
    hasher = HASHERS["fours"]

    class Meddler(str):
        __slots__ = ()

        def lower(self):
            hasher.transform_many(["x" * 100_000] * 20)
            hasher.clear()
            return "other"

        def __str__(self):
            return self.lower()

    model, expected = HashedClassifier(bits=10), HashedClassifier(bits=10)
    model.predict_learn_texts(hasher, ["win a prize", Meddler("WIN A PRIZE")], [True, False])
    expected.predict_learn_texts(hasher, ["win a prize"] * 2, [True, False])
    assert to_bytes(model) == to_bytes(expected)
