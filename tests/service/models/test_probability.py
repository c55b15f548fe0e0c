"""Which models say how probable their predictions are, and that it is what the core says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import CoinBetting
from service.messages.labels import log_odds_of, probability_of
from service.models.registry import BUILT_IN, make_learner

scores = st.floats(-700, 700)


@given(scores)
def test_of_two_classes_the_probability_is_that_of_the_side_the_score_is_on(score):
    expected = CoinBetting()._probabilities(score)[score > 0]
    assert probability_of(score > 0, score) == pytest.approx(expected, abs=1e-15)


@given(scores)
def test_of_two_classes_the_predicted_one_is_never_the_less_probable(score):
    assert 0.5 <= probability_of(score > 0, score) <= 1


@given(scores)
def test_of_several_classes_the_score_is_the_log_odds_of_the_predicted_one(score):
    assert log_odds_of("spam", score) == score


@pytest.mark.parametrize("hash_bits", [0, 10])
def test_a_built_in_model_has_log_odds_if_its_learner_has(hash_bits):
    for name, cls in BUILT_IN.items():
        expected = getattr(cls(), "has_log_odds", False)
        assert make_learner(name, {}, hash_bits=hash_bits).has_log_odds == expected, name


def test_normalized_adagrad_of_the_hinge_loss_has_no_log_odds():
    assert not make_learner("normalized-adagrad", {"loss": "hinge"}).has_log_odds


def test_what_a_river_model_says_of_probabilities_is_not_taken_for_log_odds():
    assert not make_learner("river.linear_model:LogisticRegression", {}).has_log_odds
