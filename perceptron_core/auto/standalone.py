"""Parts of `AutoClassifier` that are classifiers of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from perceptron_core.auto.auto_classifier import MOST_COLUMNS, AutoClassifier, check_whole
from perceptron_core.auto.characters import MOST_BITS
from perceptron_core.auto.plan import CHARACTERS_ALONE, FOREST_ALONE, NEIGHBORS_ALONE, Plan
from perceptron_core.linear.declarations import OF_COUNTS, Label
from perceptron_core.linear.multiclass import check_classes


class Seeded(AutoClassifier):
    """A classifier of the one part that its plan names."""

    PLAN: ClassVar[Plan]

    def __init__(self, classes: Sequence[Label] | None = None, seed: int = 1, max_columns: int = 64) -> None:
        check_whole("seed", seed, -(2**63), 2**63)
        check_whole("max_columns", max_columns, 0, MOST_COLUMNS)
        self.classes = None if classes is None else check_classes(classes)
        self.seed = seed
        self.max_columns = max_columns
        self.start(1, self.seed, max_columns, self.classes or (), self.PLAN)


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


class CharacterNaiveBayes(AutoClassifier):
    r"""Multinomial naive Bayes on the distinct 1- to 4-grams of a text's first 300 characters.

    Text is in the form NFKC, its case folded. Of the m grams of a text that were learned before, counted c_gk
    times in events of class k, and of N_k counted in its n_k events, p_k is proportional to the exponential
    of

        ln n_k + min(1, 30/m)·Σ_g [ln(c_gk + .05) − ln(N_k + .05·(V + 1))]

    for V grams that were learned. Grams overlap and are far from independent: more than 30 of them count
    together as 30, which keeps probabilities near the shares that they have.

    It takes events as `AutoClassifier` does, of which it is the part "characters": strings are texts, and
    numbers and booleans say nothing.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    hash_bits
        Hashed grams count modulo 2**hash_bits; 1 to 16. A class takes 8 bytes for each index.

    Notes
    -----
    Probabilities are cut at 3e-4, and so is that of a class not seen yet. The weight of an example is that of
    its grams.

    References
    ----------
    McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text classification. AAAI
    workshop on learning for text categorization.

    Cavnar, W. B. and Trenkle, J. M. (1994). N-gram-based text categorization. Document Analysis and
    Information Retrieval. Languages by n-grams of characters.

    Examples
    --------
    >>> from perceptron_core import CharacterNaiveBayes
    >>> model = CharacterNaiveBayes()
    >>> model.learn_one("where is the station", "en")
    >>> model.learn_one("wo ist der Bahnhof", "de")
    >>> model.learn_one("駅はどこですか", "ja")
    >>> [model.predict_one(text) for text in ("the nation", "der Hof", "駅です")]
    ['en', 'de', 'ja']

    """

    NAME = "character-naive-bayes"
    WEIGHT = OF_COUNTS

    def __init__(self, classes: Sequence[Label] | None = None, hash_bits: int = MOST_BITS) -> None:
        check_whole("hash_bits", hash_bits, 1, MOST_BITS)
        self.classes = None if classes is None else check_classes(classes)
        self.hash_bits = hash_bits
        self.start(hash_bits, 1, 0, self.classes or (), CHARACTERS_ALONE)
