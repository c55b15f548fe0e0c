"""`CharacterNaiveBayes` as a learner of its own, and among those of `AutoClassifier`."""

import copy
import math
import pickle
import random

import pytest

from perceptron_core import AutoClassifier, CharacterNaiveBayes
from tests.perceptron_core.auto.laws import (
    altered,
    check_a_copy_goes_on,
    check_a_prediction_changes_nothing,
    check_altered_state_is_refused_or_goes_on,
    check_explanations_add_up,
    check_it_goes_on_from_bytes,
    mistakes,
    taught,
)

WORDS = {
    "en": ["where", "is", "the", "station", "and", "who", "has", "money", "for", "lunch"],
    "de": ["wo", "ist", "der", "Bahnhof", "und", "wer", "hat", "Geld", "für", "Mittag"],
    "ja": ["駅", "は", "どこ", "ですか", "お金", "昼食", "誰", "が", "持って", "いる"],
}


def stream(n, n_classes=2, seed=1):
    """Make texts of several languages; of two classes, False and True."""
    draw, kinds = random.Random(seed), [*WORDS][:n_classes]
    for _ in range(n):
        kind = draw.choice(kinds)
        text = " ".join(draw.choices(WORDS[kind], k=9)) + " and so on 123"
        yield {"note": text, "n": draw.random()}, kind if n_classes > 2 else kind == "de"


def grams(text):
    return {text[at : at + n] for n in range(1, 5) for at in range(len(text) - n + 1)}


def test_it_computes_the_formula_of_its_documentation():
    texts = [("aba", 0), ("bcd ab", 1), ("xyz", 0), ("aab", 2), ("abab cd", 1)]
    model = CharacterNaiveBayes()
    counts, events, totals, known = [{}, {}, {}], [0] * 3, [0] * 3, set()
    for text, y in texts:
        model.learn_one(text, y)
        for gram in grams(text):
            counts[y][gram] = counts[y].get(gram, 0) + 1
        events[y] += 1
        totals[y] += len(grams(text))
        known |= grams(text)
    for text in ("ab", "bcd xab", "zz", "", "abababcdxyz aab"):
        seen = grams(text) & known
        joint = [
            math.log(events[k])
            + min(1, 30 / max(len(seen), 1))
            * sum(
                math.log(counts[k].get(gram, 0) + 0.05) - math.log(totals[k] + 0.05 * (len(known) + 1))
                for gram in seen
            )
            for k in range(3)
        ]
        powers = [math.exp(each - max(joint)) for each in joint]
        for k in range(3):
            p = powers[k] / sum(powers)
            expected = max(-8, min(math.log(p) - math.log(1 - p) if p < 1 else 8, 8))
            assert model.log_odds(text)[k] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_tells_languages_apart(n_classes):
    assert mistakes(CharacterNaiveBayes(), stream(200, n_classes)) < 20


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("made", [CharacterNaiveBayes, AutoClassifier])
def test_it_goes_on_from_bytes_as_if_never_written(made, n_classes):
    check_it_goes_on_from_bytes(taught(made(), stream(60, n_classes)), stream(60, n_classes, seed=3))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_as_the_original(copied):
    check_a_copy_goes_on(taught(CharacterNaiveBayes(), stream(60)), copied, [*stream(60, seed=4)])


@pytest.mark.parametrize("made", [CharacterNaiveBayes, AutoClassifier])
def test_a_prediction_changes_nothing(made):
    check_a_prediction_changes_nothing(made, stream(60), other="Привет, 世界")


def test_classes_may_come_late():
    model = CharacterNaiveBayes()
    for number, text in enumerate(("aaaa", "bbbb", "cccc", "dddd", "eeee")):
        model.learn_one(text, number)
        model.learn_one(text, number)
        assert model.predict_one(text) == number


def test_a_text_of_many_letters_is_judged_by_the_first_300():
    model = taught(CharacterNaiveBayes(), [("a" * 400, True), ("b" * 400, False)])
    assert model.log_odds("a" * 300 + "b" * 5000) == model.log_odds("a" * 300)


def test_the_grams_of_two_features_differ():
    model = CharacterNaiveBayes()
    for _ in range(3):
        taught(model, [({"from": "x", "to": "y"}, True), ({"from": "y", "to": "x"}, False)])
    assert model.predict_one({"from": "x", "to": "y"}) is True
    assert model.predict_one({"from": "y", "to": "x"}) is False


def test_it_joins_the_others_at_a_text_and_not_at_a_short_string():
    model = taught(AutoClassifier(), [({"kind": "short"}, True), ({"kind": "other"}, False)])
    assert "characters" not in model.groups
    taught(model, [("a text of more than two and thirty characters", True)])
    assert "characters" in model.groups
    names = [status.name for status in model.experts]
    assert "characters: CharacterVote" in names


def test_low_effort_has_none():
    assert "characters" not in taught(AutoClassifier(effort="low"), stream(20)).groups


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_explanation_adds_up(n_classes):
    model = taught(AutoClassifier(), stream(80, n_classes))
    check_explanations_add_up(model, stream(20, n_classes, seed=7))


@pytest.mark.parametrize("name", ["grams", "counts", "events", "totals"])
def test_altered_counts_are_refused_or_go_on(name):
    def alter(old, draw):
        return altered(old, draw, [-1.0, 1e61, math.nan, 3.0, "x"])

    model = taught(CharacterNaiveBayes(hash_bits=8), stream(40, 3))
    events = [*stream(10, 3, seed=6)]
    check_altered_state_is_refused_or_goes_on(model, "characters", name, alter, events, times=30)
