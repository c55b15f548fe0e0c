import pytest
from river import compose, ensemble, linear_model, naive_bayes, preprocessing, tree

from perceptron_core import AROW, HashedClassifier, Mixture, Perceptron
from perceptron_core.formats.model_bytes import learners
from perceptron_core.linear.binary import BinaryClassifier
from service.models.learner import takes_weights
from service.models.registry import make_learner


def test_every_built_in_model_takes_weights():
    assert [name for name in learners() if not make_learner(name, {}).takes_weights] == []
    assert takes_weights(HashedClassifier(AROW(), 8))


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        (linear_model.LogisticRegression(), True),
        (tree.HoeffdingTreeClassifier(), True),
        (naive_bayes.GaussianNB(), False),
        (linear_model.ALMAClassifier(), False),
        (ensemble.ADWINBaggingClassifier(naive_bayes.GaussianNB()), False),
        (compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()), True),
        (compose.Pipeline(preprocessing.StandardScaler(), naive_bayes.GaussianNB()), False),
        (Mixture([Perceptron(), linear_model.LogisticRegression()]), True),
        (Mixture([Perceptron(), naive_bayes.GaussianNB()]), False),
    ],
    ids=lambda each: type(each).__name__,
)
def test_of_others_the_last_step_says_whether_it_does(model, takes):
    assert takes_weights(model) is takes


def test_a_learner_that_declares_nothing_takes_none():
    class Silent(BinaryClassifier):
        def score_one(self, x):
            return 0.0

        def update_one(self, x, y, w=1.0):
            return 0.0

    assert not takes_weights(Silent())
