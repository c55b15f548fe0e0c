"""The nearest of the last events, as a classifier of its own."""

from __future__ import annotations

from collections.abc import Sequence

from perceptron_core.auto.auto_classifier import MOST_COLUMNS, AutoClassifier, check_whole
from perceptron_core.auto.plan import NEIGHBORS_ALONE
from perceptron_core.base.example_weights import OF_COUNTS
from perceptron_core.base.multiclass import check_classes
from perceptron_core.base.update import Label


class NearestNeighbors(AutoClassifier):
    r"""The ten nearest of the last 1,000 labelled events, the nearer the louder.

    Numbers are standardised by their mean and variance so far, and cut at ±4. The squared distance of two
    events is the sum of the squared differences of these, and of 2 for each category that differs. With r the
    largest squared distance d² of the ten, and s_k the share of class k, older events discounted by .998
    each,

        p_k ∝ s_k + Σ 2·(1 − .9·√(d²/r)),  the sum over those of the ten that are of class k

    It takes events as `AutoClassifier` does, of which it is the part "neighbours": numbers that most events
    have, and strings of at most 32 characters and booleans, of which 62 values are told apart. Texts say
    nothing. A missing number is the mean.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    max_columns
        Most features that are numbers, and most that are categories, 0 to 256.

    Notes
    -----
    Distances to all 1,000 events are computed, in 32-bit floats. A feature takes 4,000 bytes, in a snapshot
    too. An event of weight w counts w times where it is near, and in the shares. Log-odds are cut at ±8.

    References
    ----------
    Cover, T. and Hart, P. (1967). Nearest neighbor pattern classification. IEEE Transactions on Information
    Theory 13(1).

    Dudani, S. A. (1976). The distance-weighted k-nearest-neighbor rule. IEEE Transactions on Systems, Man,
    and Cybernetics 6(4).

    Examples
    --------
    >>> from perceptron_core import NearestNeighbors
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Bananas(), NearestNeighbors(), metrics.Accuracy())
    Accuracy: 89.56%

    """

    NAME = "nearest-neighbors"
    WEIGHT = OF_COUNTS

    def __init__(self, classes: Sequence[Label] | None = None, max_columns: int = 64) -> None:
        check_whole("max_columns", max_columns, 0, MOST_COLUMNS)
        self.classes = None if classes is None else check_classes(classes)
        self.max_columns = max_columns
        self.start(1, 1, max_columns, self.classes or (), NEIGHBORS_ALONE)
