"""Learners over hashed features, given as dictionaries or arrays of indices.

A wrapped learner gives bit-identical results; only the storage of weights differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptron_core.arrays.csr import CSR, batch_of, signs_and_weights
from perceptron_core.arrays.text_batch import TextBatch
from perceptron_core.linear.batches import SparseBatch, decide
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.perceptron import Perceptron
from perceptron_core.text.hasher import MAX_BITS, TextHasher

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perceptron_core.linear.batches import Doubles

    Classes = NDArray[np.bool_]


def _of_learner(name: str, doc: str | None = None) -> Any:
    """Return a property that delegates to the learner, in C, without a Python call."""
    return property(attrgetter(f"learner.{name}"), doc=doc or getattr(BinaryClassifier, name).__doc__)


class Predictions(NamedTuple):
    """The predictions of a model for each row."""

    classes: Classes
    scores: Doubles


class HashedClassifier(BinaryClassifier):
    """A two-class learner whose features are integers below 2**bits, and whose weights are arrays.

    It stores no names, so its size is fixed: 8 bytes for every index and column of the learner. Besides
    dictionaries, it accepts many examples in one call, as sparse rows (CSR).

    Parameters
    ----------
    classifier
        The learner whose parameters are used, without its learned state. `Perceptron()` by default; any
        two-class learner except the voted and the kernel perceptron, which store examples.
    bits
        Features are integers from 0 to 2**bits − 1; 1 to 30.

    Attributes
    ----------
    learner : BinaryClassifier
        The wrapped learner. Its attributes, such as `variances`, are those of its class.

    Notes
    -----
    Dictionaries {index: value} and rows give bit-identical results, as does the learner itself on the same
    dictionaries. Columns of zeros take memory only where they are written; variances start at 1 and
    take all their memory at once.

    Rows are objects with `indptr`, `indices` and `values` or `data`: the result of
    `TextHasher.transform_many`, or SciPy's `csr_array`. Row r has the entries `indptr[r]` up to `indptr[r +
    1]`, which are summed in this order. As in a dictionary, an index may occur only once in a row. Arrays of
    64-bit positions, 32-bit indices and doubles are read in place, and must not be changed meanwhile; other
    arrays are converted.

    References
    ----------
    Weinberger, K., Dasgupta, A., Langford, J., Smola, A. and Attenberg, J. (2009). Feature hashing for large
    scale multitask learning. Proceedings of the 26th International Conference on Machine Learning.

    Examples
    --------
    >>> from perceptron_core import AROW, HashedClassifier, TextHasher
    >>> model = HashedClassifier(AROW(), bits=18)
    >>> hasher = TextHasher(18)
    >>> model.learn_rows(hasher.transform_many(["win a prize", "see you at noon"]), [True, False])
    >>> model.predict_rows(hasher.transform_many(["a prize for you", "at noon?"]))
    array([ True, False])
    >>> model.predict_one(hasher.transform_one("a prize for you"))
    True

    Any names, after River's hashing:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.FeatureHasher(2**18, seed=1) | HashedClassifier(AROW(), bits=18)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.96%

    """

    def __init__(self, classifier: LinearRule | None = None, bits: int = 22) -> None:
        self.classifier = Perceptron() if classifier is None else classifier
        if not isinstance(self.classifier, LinearRule):
            raise TypeError(
                f"{type(classifier).__name__} has no weight for each feature, so its features cannot be "
                "hashed"
            )
        if not 1 <= bits <= MAX_BITS:
            raise ValueError(f"bits: expected a whole number from 1 to {MAX_BITS}, got {bits!r}")
        self.bits = bits
        self.learner = self.classifier.hashed(bits)

    n_mistakes = _of_learner("n_mistakes", "Examples found misclassified before the update.")
    n_updates = _of_learner("n_updates", "Updates made.")
    weights = _of_learner("weights", "Non-zero weights by index. Computed on access.")
    bias = _of_learner("bias", "The learner's bias.")
    has_log_odds = _of_learner("has_log_odds", "Whether the score is the log-odds of True.")
    WEIGHT = _of_learner("WEIGHT")
    score_one = _of_learner("score_one")
    predict_one = _of_learner("predict_one")
    learn_one = _of_learner("learn_one")
    update_one = _of_learner("update_one")
    predict_learn = _of_learner("predict_learn")
    decide = _of_learner("decide")
    undo_one = _of_learner("undo_one", "The learner's own `undo_one`; an `AttributeError` if it has none.")
    _terms = _of_learner("_terms")
    _log_odds = _of_learner("_log_odds")
    _learn_leading = _of_learner("_learn_leading")
    _predict_leading = _of_learner("_predict_leading")
    _predict_proba_leading = _of_learner("_predict_proba_leading")
    _get_state = _of_learner("_get_state")
    _read_state = _of_learner("_read_state")
    _set_state = _of_learner("_set_state")

    def score_rows(self, rows: CSR) -> Doubles:
        """Compute the signed score of each row.

        Raises
        ------
        FeatureError
            An index is out of range or occurs twice in a row, or a value is not finite or larger than 1e100.
            The message names the row.
        ValueError
            The arrays do not fit each other.

        """
        batch, scores = self._batch(rows)
        batch.score(self.learner, scores)
        return scores

    def predict_rows(self, rows: CSR) -> Classes:
        """Predict the class of each row. Raises as `score_rows` does."""
        return self._decided(self.score_rows(rows))

    def learn_rows(self, rows: CSR, y: Any, w: Any = 1.0) -> None:
        """Learn the rows in order.

        Parameters
        ----------
        rows
            Sparse rows.
        y
            A label for each row: True/False, 1/0 or 1/−1. An array is fastest.
        w
            Weight of every example, or one for each row.

        Raises
        ------
        FeatureError, LabelError
            As in `score_rows`, and for a label that is not a class. Nothing has been learned.
        ValueError
            The lengths differ, or a weight is invalid. Nothing has been learned.

        """
        batch, scores = self._batch(rows)
        batch.learn(self.learner, *signs_and_weights(y, w, len(scores)))

    def predict_learn_rows(self, rows: CSR, y: Any, w: Any = 1.0) -> Predictions:
        """Predict each row and learn it before the next: a prequential run.

        Parameters and errors are as in `learn_rows`.
        """
        batch, scores = self._batch(rows)
        batch.run(self.learner, *signs_and_weights(y, w, len(scores)), scores)
        return Predictions(self._decided(scores), scores)

    def predict_learn_texts(
        self, hasher: TextHasher, texts: Iterable[str | bytes], y: Any, w: Any = 1.0
    ) -> Predictions:
        """Predict each text and learn it before the next: `predict_learn_rows` without rows.

        Parameters
        ----------
        hasher
            Makes the features of a text; it must not have more bits than the model.
        texts
            Texts; bytes are UTF-8.
        y, w
            As in `learn_rows`.

        Raises
        ------
        LabelError
            A label is not a class. Nothing has been learned.
        TypeError, ValueError
            A row is not a text, the lengths differ, or a weight is invalid. Nothing has been learned.
        UnicodeError
            Bytes are not UTF-8, or an n-gram has a lone surrogate; as in a loop, the earlier texts have been
            learned.

        """
        batch = TextBatch(self.learner.table, hasher, texts)
        signs, weights = signs_and_weights(y, w, len(batch.texts))
        scores = _room(len(batch.texts))
        batch.run(self.learner, signs, weights, scores)
        return Predictions(self._decided(scores), scores)

    def _batch(self, rows: CSR) -> tuple[SparseBatch, Doubles]:
        """Return the checked rows, and an array for their scores."""
        batch, n_rows = batch_of(rows, self.learner.table)
        return batch, _room(n_rows)

    def _decided(self, scores: Doubles) -> Classes:
        import numpy as np  # noqa: PLC0415  takes long to import

        classes = np.empty(len(scores), bool)
        decide(self.learner, scores, classes.view(np.uint8))
        return classes


def _room(n: int) -> Doubles:
    import numpy as np  # noqa: PLC0415  takes long to import

    return np.empty(n)
