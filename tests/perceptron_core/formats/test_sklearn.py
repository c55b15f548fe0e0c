"""A scikit-learn classifier by scikit-learn's own checks, and of one mind with its Perceptron."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from perceptron_core import (
    AROW,
    AutoClassifier,
    KernelPerceptron,
    MulticlassNormalizedAdaGrad,
    MulticlassPerceptron,
    NormalizedAdaGrad,
    Perceptron,
)
from perceptron_core.formats.model_bytes import learners
from perceptron_core.formats.sklearn import PerceptronEstimator
from tests.support.learners import SEVERAL, TWO_CLASS

# Whole numbers: sums are exact in any order, so equality means equality.
rows = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        arrays(float, (n, 3), elements=st.integers(-8, 8).map(float)),
        arrays(bool, (n,), elements=st.booleans()),
    )
)


@parametrize_with_checks(
    [
        PerceptronEstimator(),
        PerceptronEstimator(
            Perceptron(tie=True, update_on_tie=False), order="constant", validation_fraction=0.2, patience=5
        ),
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
        "one step of twice the size is not two steps, of which the second may find nothing to correct",
    ),
)
def test_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(learners().keys() - {"character-naive-bayes"})
)  # which reads texts alone
def test_check_estimator_finds_nothing_in_any_learner(name):
    found = check_estimator(PerceptronEstimator(learners()[name](), max_iter=2), on_fail=None, on_skip=None)
    failed = [each for each in found if each["status"] == "failed"]
    assert {each["check_name"].partition("_on_")[0] for each in failed} <= {
        "check_sample_weight_equivalence"
    }, failed


@given(rows)
def test_predicts_as_scikit_learn_row_by_row_without_shuffling(data):
    ours, theirs = PerceptronEstimator(), TheirPerceptron(shuffle=False)
    for x, y in zip(*data, strict=True):
        for model in (ours, theirs):
            model.partial_fit([x], [y], classes=[False, True])
        assert ours.decision_function(data[0]).tolist() == theirs.decision_function(data[0]).tolist()
        assert ours.predict(data[0]).tolist() == theirs.predict(data[0]).tolist()


@pytest.mark.parametrize("n_classes", [2, 10])
def test_predicts_as_scikit_learn_after_epochs_in_constant_order(n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    ours = PerceptronEstimator(order="constant", max_iter=4, stop_on_convergence=False).fit(X, y)
    theirs = TheirPerceptron(shuffle=False, max_iter=4, tol=None).fit(X, y)
    assert (ours.decision_function(X) == theirs.decision_function(X)).all()
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_sklearn_takes_smaller_intercept_steps_on_sparse_rows():
    X, y = [[1.0, 0.0]], [True]
    ours, theirs = PerceptronEstimator(), TheirPerceptron(shuffle=False)
    for model in (ours, theirs):
        model.partial_fit(csr_array(X), y, classes=[False, True])
    assert ours.decision_function([[0.0, 0.0]]) == [1.0]
    assert theirs.intercept_ == [0.01]


def test_sparse_and_dense_rows_give_the_same_model():
    X, y = load_digits(n_class=5, return_X_y=True)
    dense, sparse = (
        PerceptronEstimator(max_iter=3).fit(X, y),
        PerceptronEstimator(max_iter=3).fit(csr_array(X), y),
    )
    assert (dense.decision_function(X) == sparse.decision_function(csr_array(X))).all()


@pytest.mark.parametrize("learner", [None, MulticlassPerceptron()])
def test_learns_several_classes_with_either_kind_of_learner(learner):
    X, y = load_digits(return_X_y=True)
    names = np.array(["nought", *"abcdefghi"])[y]
    assert PerceptronEstimator(learner, max_iter=10).fit(X, names).score(X, names) > 0.94


def test_row_of_weight_0_changes_nothing():
    X, y = load_iris(return_X_y=True)
    weights = np.arange(len(y)) % 3
    weighed = PerceptronEstimator(validation_fraction=0.2).fit(X, y, weights)
    kept = weights > 0
    without = PerceptronEstimator(validation_fraction=0.2).fit(X[kept], y[kept], weights[kept])
    assert (weighed.decision_function(X) == without.decision_function(X)).all()


# Without weights, or with scores that are not w·x + b.
NOT_LINEAR = ("voted", "kernel", "mixture", "bayesian-logistic")


LEARNERS = TWO_CLASS | {name: each for name, each in SEVERAL.items() if "(" not in name}


@pytest.mark.parametrize("learner", [name for name in LEARNERS if not name.startswith(NOT_LINEAR)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_make_the_scores_of_every_learner_with_weights(learner, n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X, y = np.column_stack([X[:60, 18:24], -X[:60, 30]]), y[:60]
    model = PerceptronEstimator(LEARNERS[learner], max_iter=2).fit(X, y)
    assert model.coef_.shape == ((1 if n_classes == 2 else n_classes), 7)
    scores = (X @ model.coef_.T + model.intercept_).squeeze()
    assert scores == pytest.approx(model.decision_function(X), rel=1e-9, abs=1e-9)


def test_learner_without_weights_has_no_coefficients():
    X, y = load_digits(n_class=2, return_X_y=True)
    model = PerceptronEstimator(KernelPerceptron(), max_iter=1).fit(X[:20], y[:20])
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")


def test_tie_rule_of_the_learner_decides_at_a_tie():
    X, y = [[1.0], [-1.0]], [0, 1]
    learner = Perceptron(tie=True, update_on_tie=False, fit_intercept=False)
    assert PerceptronEstimator(learner).fit(X, y).predict([[0.0]]) == [1]
    assert PerceptronEstimator(Perceptron(fit_intercept=False)).fit(X, y).predict([[0.0]]) == [0]


def test_unannounced_label_is_rejected():
    model = PerceptronEstimator().partial_fit([[1.0]], ["a"], classes=["a", "b"])
    with pytest.raises(ValueError, match="'c'"):
        model.partial_fit([[1.0]], ["c"])
    with pytest.raises(ValueError, match="first call"):
        PerceptronEstimator().partial_fit([[1.0]], ["a"])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "learner", [NormalizedAdaGrad(), MulticlassNormalizedAdaGrad(), AutoClassifier(effort="low")]
)
def test_probabilities_belong_to_the_predicted_classes(learner, n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X, names = X[:120, 18:30], np.array(["nought", "one", "two", "three"])[y[:120]]
    model = PerceptronEstimator(learner, max_iter=2).fit(X, names)
    probabilities = model.predict_proba(X)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).mean() > 0.99
    assert model.score(X, names) > 0.8


def test_learner_without_log_odds_has_no_probabilities():
    assert not hasattr(PerceptronEstimator(), "predict_proba")
    assert not hasattr(PerceptronEstimator(MulticlassPerceptron()), "predict_proba")


def test_grid_searches_the_parameters_of_the_learner():
    X, y = load_digits(n_class=2, return_X_y=True)
    grid = GridSearchCV(PerceptronEstimator(AROW()), {"learner__r": [0.1, 10.0], "max_iter": [1]}, cv=2)
    grid.fit(X[:80], y[:80])
    assert grid.best_estimator_.learner.r == grid.best_params_["learner__r"]
    assert [each["learner__r"] for each in grid.cv_results_["params"]] == [0.1, 10.0]
    with pytest.raises(ValueError, match="learner__nope"):
        PerceptronEstimator(AROW()).set_params(learner__nope=1)


FRAME = pd.DataFrame(
    {
        "amount": [0.1, 2.5, 0.3, np.nan, 0.2, 3.1] * 5,
        "country": ["de", "xx", "de", "fr", None, "xx"] * 5,
        "text": ["thank you", "win a prize", "see you", "a prize to win", "hello", "prize"] * 5,
    }
)
IS_FRAUD = np.array(["ok", "fraud", "ok", "fraud", "ok", "fraud"] * 5)


@pytest.mark.parametrize("learner", [None, AROW(), MulticlassPerceptron(), AutoClassifier(effort="low")])
def test_columns_may_hold_texts_and_keep_their_names(learner):
    model = PerceptronEstimator(learner, max_iter=5).fit(FRAME, IS_FRAUD)
    assert model.feature_names_in_.tolist() == ["amount", "country", "text"]
    assert model.score(FRAME, IS_FRAUD) > 0.9
    rows = PerceptronEstimator(learner, max_iter=5).fit(FRAME.to_numpy(), IS_FRAUD)
    assert (rows.predict(FRAME.to_numpy()) == model.predict(FRAME)).all()


def test_weights_and_explanations_have_the_names_of_the_columns():
    model = PerceptronEstimator(AROW()).fit(FRAME[["amount", "country"]], IS_FRAUD)
    assert {"amount", "country=xx"} <= model.models_[0].weights.keys()
    assert not hasattr(model, "coef_")
    numbers = pd.DataFrame({"b": [1.0, -1.0], "a": [0.0, 3.0]})
    model = PerceptronEstimator().fit(numbers, [True, False])
    assert model.models_[0].weights.keys() <= {"a", "b"}
    assert (numbers.to_numpy() @ model.coef_.T + model.intercept_).squeeze() == pytest.approx(
        model.decision_function(numbers)
    )


def test_zero_is_a_number_for_auto_in_any_type():
    X, y = load_digits(n_class=2, return_X_y=True)
    dense = PerceptronEstimator(AutoClassifier(effort="low"), max_iter=1).fit(X[:60], y[:60])
    sparse = PerceptronEstimator(AutoClassifier(effort="low"), max_iter=1).fit(csr_array(X[:60]), y[:60])
    assert (dense.decision_function(X) == sparse.decision_function(csr_array(X))).all()
