"""A forest of trees that grow online, with one linear answer over their nodes."""

from __future__ import annotations

from perceptron_core.auto.alone.seeded import Seeded
from perceptron_core.auto.plan import FOREST_ALONE


class HoeffdingForest(Seeded):
    r"""Twenty trees grown by Hoeffding's bound, whose answer is linear over all nodes that an event passes.

    Each tree sees each event with a weight drawn from Poisson(6), and has all of d ≤ 12 features; of more, 12
    or ⌈d/4⌉, whichever is more, drawn at random. A leaf counts the weights of each class in 64 bins of each
    feature: of a number, bins of u = z/(1 + |z|), z being standardised; of a category, its values. Bins of a
    number are shifted from tree to tree, by up to one bin: so together they find a threshold that is within
    one. Whenever it has seen 100 weights more,
    or an eighth, it takes the best split into two by information gain G, if

        G₁ − G₂ > ε or ε < .05, and G₁ > .002, and each side has 1 % of the weights,
        ε = √(log₂²K·ln(1/.05)/2n)

    for K classes and n weights, G₂ being the best gain of another feature. Values of a category are split in
    two by the share of a class among them. A tree is grown again, on other features, when its error over the
    last 100 events exceeds that over the last 2,000 by four standard deviations.

    The trees decide nothing by themselves: each node, inner ones too, is a feature of an event that passes
    it, of which `NormalizedAdaGrad` learns the weight; so an answer is there before any split, and what a
    node knows is not lost when it splits. Two classes share one such learner; of three or more, each has one.

    It is not River's adaptive random forest: that one's leaves answer by themselves, by their majority or
    naive Bayes, its trees vote, they choose among the features at each node, split categories into as many
    parts as there are values, and detect drifts by ADWIN.

    It takes events as `AutoClassifier` does, of which it is the part "trees": numbers that most events have,
    and strings of at most 32 characters and booleans, of which 62 values are told apart. Texts say nothing.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    seed
        Of the features and weights of the trees.
    max_columns
        Most features that are numbers, and most that are categories, 0 to 256.

    Notes
    -----
    A tree has at most 1,000 nodes, and leaves of all trees count in 8 MiB: of more than 2,048/d classes,
    trees have fewer features. If a class comes for which the leaves have no room, all trees are grown
    again. The weight of an example counts as 16 at most where trees count.

    References
    ----------
    Domingos, P. and Hulten, G. (2000). Mining high-speed data streams. Knowledge Discovery and Data Mining.

    Gomes, H. M. et al. (2017). Adaptive random forests for evolving data stream classification. Machine
    Learning 106. The weights, and growing again.

    Examples
    --------
    >>> from perceptron_core import HoeffdingForest
    >>> from river.datasets import synth
    >>> from river import evaluate, metrics
    >>> model = HoeffdingForest()
    >>> evaluate.progressive_val_score(synth.Agrawal(1, seed=1).take(5000), model, metrics.Accuracy())
    Accuracy: 94.10%

    """

    NAME = "hoeffding-forest"
    PLAN = FOREST_ALONE
