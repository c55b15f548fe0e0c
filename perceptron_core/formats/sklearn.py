"""The learners as a scikit-learn classifier. Needs scikit-learn: import it by name.

Rows become dictionaries {column: value} of their non-zero entries, by names of columns if there are any;
`perceptron_train` trains on them.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from river import base
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.perceptron import Perceptron
from perceptron_core.training.epochs import hold_out, perceptron_train

if TYPE_CHECKING:
    from perceptron_core.training.epochs import Order, Training

_BINARY: Final = 2
_OF_LEARNER: Final = "learner__"
_Rows = list[dict[Any, Any]]


def _has_probabilities(estimator: Any) -> bool:
    learner = estimator._untrained()  # noqa: SLF001 - a method's condition, which scikit-learn wants outside
    return any(getattr(learner, name, False) for name in ("has_probabilities", "has_log_odds"))


class PerceptronEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Scikit-learn classifier that trains a learner of this package over a finite set.

    Parameters
    ----------
    learner
        The learner, by default `Perceptron()`; a clone of it is trained. With more than two classes, a
        two-class learner is trained once for each class against the rest; a multiclass learner (made without
        `classes`) or `AutoClassifier` learns all classes at once. Its parameters are `learner__r` and so on,
        also in a grid search.
    max_iter
        Largest number of epochs.
    order
        "shuffle", "constant" or "random", as in `perceptron_train`.
    stop_on_convergence
        Whether to stop after an epoch without an update.
    validation_fraction
        Share of the examples to hold out; the model of the epoch with the smallest error on them is kept. 0
        holds out none.
    patience
        With `validation_fraction`: end after this many epochs without a smaller error on these examples.
    random_state
        Seed of order and split: an integer or a `numpy.random.RandomState`; None: different at each call.

    Attributes
    ----------
    classes_ : array
        The labels.
    trainings_ : list of Training
        The results of `perceptron_train`, with the learning curve; by class if there are several learners.
        Only after `fit`.
    models_ : list
        The trained learners; a two-class learner decides whether it is `classes_[1]`, or `classes_[i]`.
    n_iter_ : int
        Largest number of epochs of a learner.
    n_features_in_ : int
        Number of columns.
    coef_, intercept_ : arrays of shape (n_classes, n_features) and (n_classes,), of one row for two classes
        Weights, and bias minus threshold, of learners that have them.

    Notes
    -----
    If the rules coincide — `Perceptron()`, order "constant", dense rows, and
    ``sklearn.linear_model.Perceptron(shuffle=False, tol=None)`` — the predictions are the same: both
    update whenever y·a ≤ 0 and predict the second class if a > 0. Differences:

    - This class stops after an epoch without an update. Scikit-learn's class stops, if `tol` is set, when the
      sum of losses does not improve by it for `n_iter_no_change` epochs.
    - With ``Perceptron(update_on_tie=False)`` or ``tie=True`` this class follows Gormley's rule;
      scikit-learn's class has no such parameter.
    - On sparse matrices, scikit-learn's class makes the intercept's step a hundred times smaller. Here,
      stored and absent zeros are the same.
    - Scikit-learn's class shuffles with another generator, so shuffled runs differ, and its `partial_fit`
      shuffles by default. Here, `partial_fit` learns in the given order.
    - Scikit-learn's class has penalties and class weights; for margins choose another learner.
    - This class rejects values larger than 1e100.

    A column may have texts. `AutoClassifier` gets them, and zeros, unchanged; for other learners a text is a
    category, the feature `column=text` with the value 1. In data with texts, None and NaN are missing values.

    Examples
    --------
    >>> from perceptron_core.formats.sklearn import PerceptronEstimator
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = PerceptronEstimator(max_iter=100).fit(X, y)
    >>> estimator.score(X, y) > 0.8
    True

    """

    def __init__(
        self,
        learner: Any = None,
        *,
        max_iter: int = 100,
        order: Order = "shuffle",
        stop_on_convergence: bool = True,
        validation_fraction: float = 0.0,
        patience: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.learner = learner
        self.max_iter = max_iter
        self.order = order
        self.stop_on_convergence = stop_on_convergence
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also the parameters of a given learner as `learner__…`."""
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.learner, base.Classifier):
            names = signature(type(self.learner)).parameters
            parameters |= {_OF_LEARNER + name: getattr(self.learner, name) for name in names}
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `learner__…` for a copy of the learner. Raises `ValueError` for unknown names."""
        of_learner = {name: params.pop(name) for name in [*params] if name.startswith(_OF_LEARNER)}
        super().set_params(**params)
        if unknown := [name for name in of_learner if name not in self.get_params()]:
            raise ValueError(f"Invalid parameter {unknown[0]!r} for estimator {self}")
        if of_learner:
            new = {name.removeprefix(_OF_LEARNER): value for name, value in of_learner.items()}
            self.learner = self.learner.clone(new)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on a set; what was learned before is discarded.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Examples.
        y : array of shape (n_samples,)
            Labels of any kind, at least two different ones.
        sample_weight : array of shape (n_samples,)
            Size of the step for each example; one of weight 0 is ignored. None: 1 each.

        """
        X, y = self._checked(X, y)
        check_classification_targets(y)
        weights = _weights(sample_weight, X)
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_ = np.unique(y)
        if len(self.classes_) < _BINARY:
            raise ValueError(f"expected two classes, got one class: {self.classes_.tolist()}")
        examples = self._rows(X)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.trainings_ = [
            self._train(examples, labels, weights.tolist(), seed) for labels in self._targets(y)
        ]
        self.models_ = [training.model for training in self.trainings_]
        self.n_iter_ = max(training.epochs for training in self.trainings_)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn each example once, in the given order.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array
            All possible labels; required at the first call.

        """
        first = not hasattr(self, "models_")
        X, y = self._checked(X, y, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes: expected all labels at the first call of partial_fit, got None")
            self.classes_ = np.unique(classes)
            n_models = len(self.classes_) if self._one_against_rest() else 1
            self.models_ = [self._untrained().clone() for _ in range(n_models)]
            self.n_iter_ = 1
        if unknown := set(np.unique(y).tolist()) - set(self.classes_.tolist()):
            raise ValueError(f"unknown labels {unknown}, expected the classes {self.classes_}")
        examples, weights = self._rows(X), _weights(sample_weight, X).tolist()
        for model, labels in zip(self.models_, self._targets(y), strict=True):
            for lesson in zip(examples, labels, weights, strict=True):
                model.learn_one(*lesson)
        return self

    @property
    def coef_(self) -> np.ndarray:
        """Compute the matrix of weights."""
        return self._as_matrix()[:, :-1]

    @property
    def intercept_(self) -> np.ndarray:
        """Compute the bias of each row of `coef_`."""
        return self._as_matrix()[:, -1]

    def _as_matrix(self) -> np.ndarray:
        """Return a row for each score: weights, then bias. Raises `AttributeError` if a learner has none."""
        check_is_fitted(self)
        if self._is_binary(self.models_[0]):
            vectors = [(each.weights, each.bias - getattr(each, "threshold", 0.0)) for each in self.models_]
        else:
            weights, bias = self.models_[0].weights, self.models_[0].bias
            vectors = [(weights.get(i, {}), bias.get(i, 0.0)) for i in range(len(self.classes_))]
        matrix = np.zeros((len(vectors), self.n_features_in_ + 1))
        column_of = {name: column for column, name in enumerate(self._names())}
        for row, (weights, bias) in zip(matrix, vectors, strict=True):
            if not weights.keys() <= column_of.keys():
                raise AttributeError("texts have no coefficients")
            row[[column_of[name] for name in weights]] = list(weights.values())
            row[-1] = bias
        return np.diff(matrix, axis=0) if len(vectors) == _BINARY else matrix

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores: one column for each class, or one score for two classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Examples.

        """
        check_is_fitted(self)
        examples = self._rows(self._checked(X, reset=False))
        if not self._is_binary(self.models_[0]):
            return self._multiclass_scores(examples)
        columns = [[m.score_one(x) - getattr(m, "threshold", 0.0) for x in examples] for m in self.models_]
        scores = np.array(columns)
        return scores[0] if len(self.models_) == 1 else scores.T

    def predict(self, X: Any) -> np.ndarray:
        """Predict the classes.

        The learner decides; of several learners, the one with the highest score.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Examples.

        """
        check_is_fitted(self)
        if not self._is_binary(self.models_[0]):
            predicted = [self.models_[0].predict_one(x) for x in self._rows(self._checked(X, reset=False))]
            return self.classes_[predicted]
        scores = self.decision_function(X)
        if scores.ndim > 1:
            return self.classes_[scores.argmax(axis=1)]  # type: ignore[no-any-return]  # scikit-learn's
        positive = (scores > 0) | ((scores == 0) & bool(getattr(self.models_[0], "tie", False)))
        return self.classes_[positive.astype(int)]  # type: ignore[no-any-return]  # scikit-learn's

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn's
    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probability of each class, for a learner whose scores are log-odds.

        With several learners, the probabilities of the classes are scaled to the sum 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Examples.

        """
        check_is_fitted(self)
        examples = self._rows(self._checked(X, reset=False))
        shares = np.zeros((len(examples), len(self.classes_)))
        for row, x in zip(shares, examples, strict=True):
            if len(self.models_) > 1:
                row[:] = [model.predict_proba_one(x)[True] for model in self.models_]
            else:
                for label, probability in self.models_[0].predict_proba_one(x).items():
                    row[int(label)] = probability
        return shares / shares.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]  # NumPy's

    def _checked(self, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
        """Check examples, and labels if they are given, as scikit-learn does."""
        if not _has_texts(X):
            return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=reset)
        given = X if hasattr(X, "columns") else np.asarray(X, dtype=object)
        return validate_data(self, given, y, dtype=None, ensure_all_finite=False, reset=reset)

    def _names(self) -> list[Any]:
        """Return the names of the columns or, without names, their numbers."""
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))

    def _rows(self, X: Any) -> _Rows:
        """Convert checked examples to dictionaries."""
        names, takes_all = self._names(), isinstance(self._untrained(), AutoClassifier)
        if not sparse.issparse(X):
            return [_dense_row(names, row, takes_all=takes_all) for row in X.tolist()]
        if takes_all:
            return [_dense_row(names, row, takes_all=True) for row in X.toarray().tolist()]
        rows = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
        columns, values = [names[column] for column in X.indices.tolist()], X.data.tolist()
        return [dict(zip(columns[start:stop], values[start:stop], strict=True)) for start, stop in rows]

    def _train(self, examples: _Rows, labels: list[Any], weights: list[float], seed: int) -> Training:
        rows, held_out = [*range(len(examples))], list[int]()
        if self.validation_fraction:
            rows, held_out = hold_out(rows, self.validation_fraction, seed)
        return perceptron_train(
            [(examples[row], labels[row]) for row in rows],
            self.max_iter,
            learner=self._untrained(),
            order=self.order,
            seed=seed,
            weights=[weights[row] for row in rows],
            stop_on_convergence=self.stop_on_convergence,
            held_out=[(examples[row], labels[row]) for row in held_out],
            patience=self.patience,
        )

    def _untrained(self) -> Any:
        return Perceptron() if self.learner is None else self.learner

    def _is_binary(self, learner: Any) -> bool:
        return isinstance(learner, BinaryClassifier)

    def _one_against_rest(self) -> bool:
        return len(self.classes_) > _BINARY and self._is_binary(self._untrained())

    def _targets(self, y: np.ndarray) -> list[list[Any]]:
        """List the targets of each learner."""
        if not self._is_binary(self._untrained()):
            return [np.searchsorted(self.classes_, y).tolist()]
        positives = self.classes_ if self._one_against_rest() else self.classes_[1:]
        return [(y == positive).tolist() for positive in positives]

    def _multiclass_scores(self, examples: _Rows) -> np.ndarray:
        """Return a multiclass learner's scores, or log-probabilities; -inf for a class it has not seen."""
        model, scores = self.models_[0], np.full((len(examples), len(self.classes_)), -np.inf)
        is_auto = isinstance(model, AutoClassifier)
        for row, x in zip(scores, examples, strict=True):
            for index, score in (model.predict_proba_one(x) if is_auto else model.scores_one(x)).items():
                row[index] = np.log(score) if is_auto else score
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == _BINARY else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _weights(sample_weight: Any, X: Any) -> Any:
    """Check the weights of rows; the default is 1. Raises `ValueError` with scikit-learn's messages."""
    n_rows = X.shape[0]
    if sample_weight is None or isinstance(sample_weight, (int, float)):
        return np.full(n_rows, 1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if weights.min() < 0:
        raise ValueError("Negative values in data passed to `sample_weight`.")
    return weights


def _has_texts(X: Any) -> bool:
    """Return whether any column has texts."""
    if sparse.issparse(X):
        return False
    try:
        cells = np.asarray(X)
    except ValueError:  # rows of different lengths, which scikit-learn reports
        return False
    return cells.dtype.kind in "UT" or (
        cells.dtype.kind == "O" and any(isinstance(cell, str) for cell in cells.flat)
    )


def _dense_row(names: list[Any], row: list[Any], *, takes_all: bool) -> dict[Any, Any]:
    """Convert a row to a dictionary; without zeros, unless the learner `takes_all`."""
    cells = [each for each in zip(names, row, strict=True) if each[1] is not None and each[1] == each[1]]
    if takes_all:
        return dict(cells)
    categories = {f"{name}={cell}": 1.0 for name, cell in cells if isinstance(cell, str)}
    return {name: cell for name, cell in cells if cell and not isinstance(cell, str)} | categories
