"""Random ferns, as a classifier of its own."""

from __future__ import annotations

from perceptron_core.auto.alone.seeded import Seeded
from perceptron_core.auto.plan import FERNS_ALONE


class Ferns(Seeded):
    r"""200 ferns of eight random tests each, with one linear answer over the cells that an event falls into.

    A test asks of one feature, drawn among all alike, for a number whether it is above a threshold θ, and for
    a category whether its value is in a random half of the values. With z the standardised number, it is

        z ≥ θ = u/(1 − |u|),  u from −.75 to .75, drawn among the multiples of 1/32

    The answers of the eight tests of a fern are the number of one of its 256 cells. Each cell is a feature of
    the events that fall into it, of which `NormalizedAdaGrad` learns the weight: two classes share one such
    learner; of three or more, each has one. Nothing else is learned, so no drift leaves ferns that are out of
    date.

    In Özuysal's ferns, each one counts the classes in its cells and they are multiplied as if they were
    independent; here the weights of all are learned together, which allows for what they have in common.

    It takes events as `AutoClassifier` does: numbers that most events have, and strings of at most 32
    characters and booleans, of which 62 values are told apart. Texts say nothing. A missing number is the
    mean; a missing category is a value. When a feature comes or goes, the tests that are drawn for it change:
    of d features, about one in d. Cells of the ferns that have them mean something else then, and keep their
    weights until they have learned better.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    seed
        Of the tests, together with the names of the features.
    max_columns
        Most features that are numbers, and most that are categories, 0 to 256.

    Notes
    -----
    The 51,200 cells take 1.2 MB in a snapshot, for each class of three or more. The order in which features
    come makes no difference.

    References
    ----------
    Özuysal, M., Calonder, M., Lepetit, V. and Fua, P. (2010). Fast keypoint recognition using random ferns.
    IEEE Transactions on Pattern Analysis and Machine Intelligence 32(3).

    Examples
    --------
    >>> from perceptron_core import Ferns
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), Ferns(), metrics.Accuracy())
    Accuracy: 93.50%

    """

    NAME = "ferns"
    PLAN = FERNS_ALONE
