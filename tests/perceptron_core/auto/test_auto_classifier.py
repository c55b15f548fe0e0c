"""`AutoClassifier` on events of any kind."""

import math
import random
import struct

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import (
    AutoClassifier,
    CharacterNaiveBayes,
    DamagedError,
    FeatureError,
    HoeffdingForest,
    LabelError,
    NearestNeighbors,
    from_bytes,
    to_bytes,
)
from perceptron_core.auto import explanation
from tests.perceptron_core.auto.laws import check_it_goes_on_from_bytes, mistakes
from tests.support.example_counts import n_examples

values = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 3, 1e100, -1e-300]),
    st.sampled_from(["", "red", "dark red", "a longer text with several words in it", "ünïcödé 漢字"]),
    st.booleans(),
    st.none(),
)
xs = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)
KINDS = [AutoClassifier, CharacterNaiveBayes, HoeffdingForest, NearestNeighbors]
SEVERAL = ["ham", "spam", "eggs", "bacon"]


def streams(labels):
    return st.lists(st.tuples(xs, st.sampled_from(labels)), max_size=40)


def mixed_stream(n, seed=5):
    """Make events with numbers that bend, categories and texts, some of which are missing."""
    draw = random.Random(seed)
    stream = []
    for _ in range(n):
        x = {"a": draw.gauss(0, 1), "b": draw.gauss(0, 1), "colour": draw.choice(["red", "blue", "dark red"])}
        y = x["a"] ** 2 + x["b"] ** 2 + ("red" in x["colour"]) < 2
        x["note"] = "win a prize now" if y and draw.random() < 0.3 else "see you at noon"
        if draw.random() < 0.1:
            del x[draw.choice("ab")]
        stream.append((x, y))
    return stream


def test_auto_learns_a_circle_of_two_numbers():
    draw = random.Random(3)
    points = [{"a": draw.gauss(0, 1), "b": draw.gauss(0, 1)} for _ in range(1500)]
    stream = [(x, x["a"] ** 2 + x["b"] ** 2 < 1.2) for x in points]
    assert mistakes(AutoClassifier(), stream) < 150


def test_shuffled_labels_teach_nothing():
    draw = random.Random(7)
    stream = [(x, draw.random() < 0.5) for x, _ in mixed_stream(2000)]
    assert 0.45 < mistakes(AutoClassifier(), stream) / 2000 < 0.55


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e101, [1], {"a": 1}, "a\ud800bcd"])
def test_invalid_value_is_rejected_by_feature(value):
    model = AutoClassifier()
    with pytest.raises(FeatureError, match="feature 'odd'"):
        model.learn_one({"odd": value}, True)
    assert model.n_updates == 0


@pytest.mark.parametrize("label", [None, float("nan"), [1]])
def test_label_of_an_invalid_type_is_rejected(label):
    with pytest.raises(LabelError):
        AutoClassifier().learn_one({"a": 1.0}, label)


def test_label_outside_the_given_classes_is_rejected():
    with pytest.raises(LabelError, match="expected one of"):
        AutoClassifier(classes=SEVERAL).learn_one({"a": 1.0}, "toast")


@settings(max_examples=n_examples(50))
@given(stream=st.one_of(streams([False, True]), streams(SEVERAL)), cut=st.integers(0, 40))
def test_model_from_bytes_continues_identically(stream, cut):
    model = AutoClassifier()
    for x, y in stream[:cut]:
        model.learn_one(x, y)
    check_it_goes_on_from_bytes(model, stream[cut:])


def test_columns_never_exceed_the_maximum():
    model = AutoClassifier(max_columns=3)
    for x, y in [({f"x{k}": 0.1 * k + number for k in range(10)}, True) for number in range(40)]:
        model.learn_one(x, y)
    assert len(model.maps.columns.numbers) == 3


def test_file_claiming_too_much_memory_is_rejected():
    data = to_bytes(AutoClassifier(hash_bits=26))
    with pytest.raises(DamagedError, match="bytes of memory"):
        from_bytes(data, max_bytes=1 << 20)


def test_expert_is_evaluated_only_on_events_of_its_map():
    model = AutoClassifier()
    for n in range(10):
        model.learn_one({"note": "win a prize"} if n % 2 else {"loud": True}, n % 2 == 0)
    labels = {each.name: each.recent_labels for each in model.experts}
    assert labels["words: CoinBetting"] == pytest.approx(10, abs=0.05)
    assert labels["grams: CoinBetting"] == pytest.approx(5, abs=0.05)


def test_candidates_for_columns_are_bounded():
    model = AutoClassifier()
    for turn in range(3):
        model.learn_one({f"f{turn}-{k}": k + 0.5 for k in range(5000)}, turn % 2 == 0)
    assert len(model.maps.columns.candidates) <= 1024


@pytest.mark.parametrize("x", [None, [1, 2], 3.0])
def test_event_that_is_not_a_dictionary_is_rejected(x):
    with pytest.raises(FeatureError, match="expected a dictionary or text"):
        AutoClassifier().predict_one(x)


@pytest.mark.parametrize("name", [None, 2**70, "a\ud800", ("t", 1)])
def test_features_of_any_name_can_be_saved(name):
    model = AutoClassifier()
    for number in range(20):
        model.learn_one({name: number * 0.5, "b": 1.5}, number % 2 == 0)
    assert from_bytes(to_bytes(model)).log_odds({name: 2.5}) == model.log_odds({name: 2.5})


def test_numpy_values_equal_python_values():
    one, two = AutoClassifier(), AutoClassifier()
    one.learn_one({"a": np.float64(2.5), "b": np.bool_(True), "c": np.str_("red"), "d": np.int64(3)}, True)
    two.learn_one({"a": 2.5, "b": True, "c": "red", "d": 3}, True)
    assert to_bytes(one) == to_bytes(two)


def test_rest_of_a_long_text_is_one_term():
    model = AutoClassifier()
    text = " ".join(f"w{k}" for k in range(4000))
    for y in (True, False, True):
        model.learn_one({"text": text if y else "see you"}, y)
    x = {"text": text}
    terms, intercept = model.explain(x, 1)
    assert len(terms) < 2 * 1000 + 3
    assert intercept + sum(term.contribution for term in terms) == pytest.approx(model.log_odds(x)[1])


def test_time_to_name_words_is_bounded(monkeypatch):
    cut = []
    monkeypatch.setattr(explanation, "folded", lambda text, lowercase: cut.append(len(text)) or text)
    explanation.words_and_pairs("\ufdfa" * 300_000)
    assert cut == [32 * explanation.MAX_ENTRIES]


@pytest.mark.parametrize("made", KINDS)
@pytest.mark.parametrize("number", ["no", 2, -1, None, [0]])
def test_explanation_of_an_unknown_class_is_rejected(made, number):
    model = made(classes=["ham", "spam"])
    model.learn_one({"a": 1.5, "text": "see you"}, "ham")
    with pytest.raises(ValueError, match="is not the number of a class"):
        model.explain({"a": 1.5}, number)


@pytest.mark.parametrize("made", KINDS)
def test_untrained_model_has_no_explanation(made):
    assert made(classes=["ham", "spam"]).explain({"a": 1.5, "text": "see you"}, 0) == ([], 0.0)


@pytest.mark.parametrize("made", KINDS)
def test_unknown_class_has_no_explanation(made):
    with pytest.raises(ValueError, match="as no class is known yet"):
        made().explain({"a": 1.5}, 0)


@pytest.mark.parametrize("made", KINDS)
@pytest.mark.parametrize("text", ["\ud800", "a long text " * 500 + "\ud800"])
def test_text_with_a_lone_surrogate_is_rejected(made, text):
    with pytest.raises(FeatureError, match="lone surrogate"):
        made().predict_one({"a": text})


@settings(max_examples=n_examples(50))
@given(stream=st.one_of(streams([False, True]), streams(SEVERAL)))
def test_repeated_prediction_is_the_same(stream):
    one, two = AutoClassifier(), AutoClassifier()
    for x, y in stream:
        one.log_odds(x)
        one.learn_one(x, y, 1.0, one.prediction_context())
        two.learn_one(x, y)
    assert to_bytes(one) == to_bytes(two)


@settings(max_examples=n_examples(50))
@given(stream=st.one_of(streams([False, True]), streams(SEVERAL)), delay=st.integers(1, 10))
def test_mistakes_are_the_predictions_mistakes_at_any_label_delay(stream, delay):
    model, waiting = AutoClassifier(classes=sorted({y for _, y in stream} | {"x", "y"}, key=str)), []
    for x, y in stream:
        waiting.append((x, y, model.predict_one(x), model.prediction_context()))
        if len(waiting) > delay:
            event, truth, predicted, said = waiting.pop(0)
            anything = struct.unpack_from("d", said) > (0.0,)
            before = model.n_mistakes
            model.learn_one(event, truth, 1.0, said)
            assert not anything or model.n_mistakes - before == (predicted != truth)


def test_context_of_two_classes_is_unused_for_three():
    one, two = AutoClassifier(effort="low"), AutoClassifier(effort="low")
    for model in (one, two):
        model.learn_one({"a": 1.0}, "x")
        model.learn_one({"a": -1.0}, "y")
    one.predict_one({"a": 2.0})
    said = one.prediction_context()
    for model in (one, two):
        model.learn_one({"a": 0.0}, "z")
    one.learn_one({"a": 2.0}, "x", 1.0, said)
    two.learn_one({"a": 2.0}, "x")
    assert to_bytes(one) == to_bytes(two)


@pytest.mark.parametrize(
    "said",
    [
        *(None, 5, "x", b"x", b"12345678", bytes(8 * 40), b"\xff" * 80),
        *(struct.pack("<6d", 0, 0, 5, 0, 0.5, n_labels) for n_labels in (math.nan, math.inf, -5.0)),
    ],
)
def test_invalid_context_bytes_are_rejected(said):
    model = AutoClassifier()
    model.learn_one({"a": 1.0}, True)
    before = to_bytes(model)
    with pytest.raises(ValueError, match=r"context|numbers"):
        model.learn_one({"a": 1.0}, True, 1.0, said)
    assert to_bytes(model) == before


FRAMES = {"pandas": (pd.DataFrame, pd.Series), "polars": (pl.DataFrame, pl.Series)}


@pytest.mark.parametrize("backend", FRAMES)
@settings(deadline=None)
@given(
    labels=st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    seed=st.integers(0, 100),
    effort=st.sampled_from(["high", "low"]),
)
def test_frame_is_learned_and_predicted_as_its_rows_are(backend, labels, seed, effort):
    frame, series = FRAMES[backend]
    names = ("a", "b", "colour", "note")
    rows = [{name: x.get(name) for name in names} for x, _ in mixed_stream(len(labels), seed)]
    one, many = (AutoClassifier(effort=effort) for _ in range(2))
    for x, label in zip(rows, labels, strict=True):
        one.learn_one(x, label)
    many.learn_many(frame(rows), series(labels))
    assert to_bytes(many) == to_bytes(one)
    assert many.predict_many(frame(rows)).to_list() == [one.predict_one(x) for x in rows]
    found = many.predict_proba_many(frame(rows))
    assert {name: found[name].to_list() for name in found.columns} == {
        name: [one.predict_proba_one(x)[name] for x in rows] for name in one.labels
    }


@given(streams([False, True]))
def test_two_class_score_is_the_second_classs_log_odds(stream):
    model = AutoClassifier([False, True])
    for x, label in stream:
        assert (model.score_one(x) > 0) == model.predict_one(x)
        assert model.score_one(x) == model.log_odds(x)[1]
        model.learn_one(x, label)


@given(streams("abc"))
def test_multiclass_score_belongs_to_the_predicted_class(stream):
    model = AutoClassifier([*"abc"])
    for x, label in stream:
        p = model.predict_proba_one(x)[model.predict_one(x)]
        assert model.score_one(x) == pytest.approx(np.log(p / (1 - p)), abs=1e-6)
        model.learn_one(x, label)


def test_model_without_classes_has_score_0():
    assert AutoClassifier().score_one({"a": 1.0}) == 0.0


@pytest.mark.parametrize("made", [CharacterNaiveBayes, NearestNeighbors])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_mixture_of_one_expert_makes_its_mistakes(made, n_classes):
    model, draw = made(), random.Random(2)
    for n in range(200):
        number = n % n_classes
        model.learn_one({"a": draw.gauss(number, 0.7), "text": f"word{number} {draw.random()}"}, number)
        if n == n_classes:
            early = model.n_mistakes - model.experts[0].mistakes
    assert 0 < model.experts[0].mistakes == model.n_mistakes - early
