"""Every two-class learner inside what River builds out of classifiers."""

import itertools

import pandas as pd
import pytest
from river import (
    bandit,
    compose,
    datasets,
    drift,
    ensemble,
    evaluate,
    metrics,
    model_selection,
    multiclass,
    optim,
    preprocessing,
)
from river.utils import expand_param_grid

from perceptron_core import AROW, PassiveAggressive, Perceptron
from tests.support.learners import TWO_CLASS

BETTER_THAN_A_COIN = 0.6
BETTER_THAN_A_DIE = 0.25  # of seven sides
PAGES = list(datasets.Phishing().take(300))
SEGMENTS = list(datasets.ImageSegments().take(300))


@pytest.fixture(params=TWO_CLASS)
def learner(request):
    return TWO_CLASS[request.param].clone()


def accuracy(stream, model):
    return evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get()


def test_learner_works_at_the_end_of_a_river_pipeline(learner):
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), learner)
    assert accuracy(PAGES, pipeline) > BETTER_THAN_A_COIN
    assert type(learner).__name__ in pipeline.debug_one(PAGES[0][0])


@pytest.mark.parametrize(
    "compose_classifier",
    [
        multiclass.OneVsRestClassifier,
        multiclass.OneVsOneClassifier,
        lambda learner: multiclass.OutputCodeClassifier(learner, code_size=7, seed=1),
    ],
    ids=["OneVsRest", "OneVsOne", "OutputCode"],
)
def test_learner_works_within_a_river_classifier_of_seven_classes(learner, compose_classifier):
    model = preprocessing.StandardScaler() | compose_classifier(learner)
    assert accuracy(SEGMENTS, model) > BETTER_THAN_A_DIE


@pytest.mark.parametrize(
    "compose_classifier",
    [
        lambda learner: ensemble.ADWINBaggingClassifier(learner, n_models=3, seed=1),
        lambda learner: ensemble.BaggingClassifier(learner, n_models=3, seed=1),
        drift.DriftRetrainingClassifier,
        lambda learner: model_selection.BanditClassifier(
            [learner, learner.clone()], metrics.Accuracy(), bandit.EpsilonGreedy(0.1, seed=1)
        ),
    ],
    ids=["ADWINBagging", "Bagging", "DriftRetraining", "Bandit"],
)
def test_learner_works_within_a_river_ensemble(learner, compose_classifier):
    assert accuracy(PAGES, preprocessing.StandardScaler() | compose_classifier(learner)) > BETTER_THAN_A_COIN


def test_successive_halving_chooses_the_aggressiveness():
    model = model_selection.SuccessiveHalvingClassifier(
        [preprocessing.StandardScaler() | PassiveAggressive(C=price) for price in (0.001, 0.01, 0.1, 1.0)],
        metric=metrics.Accuracy(),
        budget=300,
        seed=1,
    )
    assert accuracy(PAGES, model) > BETTER_THAN_A_COIN


def test_parameter_grid_expands_into_models():
    models = expand_param_grid(AROW(), {"r": [0.1, 1.0], "fit_intercept": [True, False]})
    assert [(model.r, model.fit_intercept) for model in models] == list(
        itertools.product([0.1, 1.0], [True, False])
    )


def test_river_schedule_is_accepted_as_learning_rate():
    steps = Perceptron(learning_rate=optim.schedulers.InverseScaling(1.0, power=1.0))
    assert [steps.update_one({}, y) for y in (True, False, False)] == [1.0, -0.5, -1 / 3]


def test_rows_of_a_data_frame_go_through_a_pipeline():
    X, y = zip(*PAGES, strict=True)
    model = preprocessing.StandardScaler() | AROW()
    model.learn_many(pd.DataFrame(X), pd.Series(y))
    assert len(model.predict_many(pd.DataFrame(X))) == len(X)
