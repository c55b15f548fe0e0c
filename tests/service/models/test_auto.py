"""`--model auto` as the service drives it."""

import pytest

from service.errors import ConfigurationError
from service.models.registry import make_learner

EVENTS = [({"n": float(k % 7), "note": "win a prize" if k % 3 else "see you"}, k % 3 > 0) for k in range(60)]


def test_its_score_is_the_signed_log_odds_of_two_classes():
    learner = make_learner("auto", {})
    for x, y in EVENTS:
        learner.learn(x, y)
    for x, _ in EVENTS:
        predicted, score = learner.assess(x)
        assert predicted is (score > 0)
        assert learner.model.predict_proba_one(x)[predicted] >= 0.5


def test_its_score_is_the_log_odds_of_the_predicted_of_several_classes():
    learner = make_learner("auto", {}, ("a", "b", "c"))
    assert learner.assess({"n": 1.0}) == ("a", pytest.approx(-0.6931, abs=1e-3))
    for number, (x, _) in enumerate(EVENTS):
        learner.learn(x, "abc"[number % 3])
    x, _ = EVENTS[0]
    predicted, score = learner.assess(x)
    odds = [learner.score(x, label) for label in "abc"]
    assert predicted == "abc"[odds.index(max(odds))]
    assert score == max(odds)


def test_a_prediction_that_is_learned_at_once_is_the_prediction():
    one, two = make_learner("auto", {}), make_learner("auto", {})
    for x, y in EVENTS:
        expected = two.assess(x)
        two.learn(x, y)
        assert one.predict_learn(x, y)[:2] == expected
    assert one.dump() == two.dump()


def test_hash_bits_are_those_of_its_text_maps():
    assert make_learner("auto", {}, hash_bits=12).model.hash_bits == 12
    assert make_learner("auto", {"hash_bits": 13}, hash_bits=12).model.hash_bits == 13


def test_it_does_not_unlearn():
    assert make_learner("auto", {}).undo({"n": 1.0}, True) is False


def test_other_classes_than_the_settings_are_refused():
    with pytest.raises(ConfigurationError, match="classes"):
        make_learner("auto", {"classes": ("a", "b", "c")}, ("a", "b", "d"))
