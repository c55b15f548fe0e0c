import pytest

from perceptron_core import HashedClassifier, Perceptron, VotedPerceptron
from service.models.core import BinaryLearner


class Opposite(Perceptron):
    def decide(self, score):
        return not super().decide(score)


@pytest.mark.parametrize("model", [VotedPerceptron(), Opposite()])
def test_a_learner_that_answers_in_its_own_way_has_no_rule(model):
    assert BinaryLearner(model).rule is None


def test_the_rule_of_a_hashed_learner_is_that_of_the_learner():
    model = HashedClassifier(Perceptron(), bits=4)
    assert BinaryLearner(model).rule is model.learner
