"""`CharacterNaiveBayes` as a learner of its own, and among those of `AutoClassifier`."""

import math

import pytest

from perceptron_core import AutoClassifier, CharacterNaiveBayes
from tests.perceptron_core.auto.laws import taught


def grams(text):
    return {text[at : at + n] for n in range(1, 5) for at in range(len(text) - n + 1)}


def test_learner_computes_its_documented_formula():
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


def test_late_classes_are_learned():
    model = CharacterNaiveBayes()
    for number, text in enumerate(("aaaa", "bbbb", "cccc", "dddd", "eeee")):
        model.learn_one(text, number)
        model.learn_one(text, number)
        assert model.predict_one(text) == number


def test_only_the_first_300_characters_of_a_text_count():
    model = taught(CharacterNaiveBayes(), [("a" * 400, True), ("b" * 400, False)])
    assert model.log_odds("a" * 300 + "b" * 5000) == model.log_odds("a" * 300)


def test_grams_of_two_features_differ():
    model = CharacterNaiveBayes()
    for _ in range(3):
        taught(model, [({"from": "x", "to": "y"}, True), ({"from": "y", "to": "x"}, False)])
    assert model.predict_one({"from": "x", "to": "y"}) is True
    assert model.predict_one({"from": "y", "to": "x"}) is False


def test_characters_join_at_a_text_not_a_short_string():
    model = taught(AutoClassifier(), [({"kind": "short"}, True), ({"kind": "other"}, False)])
    assert "characters" not in model.groups
    taught(model, [("a text of more than two and thirty characters", True)])
    assert "characters" in model.groups
    assert "characters: CharacterVote" in [status.name for status in model.experts]
