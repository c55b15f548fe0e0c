"""Parts of `AutoClassifier` as separate classifiers."""

from __future__ import annotations

from collections.abc import Sequence

from perceptron_core.auto.auto_classifier import MAX_COLUMNS, AutoClassifier
from perceptron_core.auto.characters import MAX_BITS
from perceptron_core.auto.plan import CHARACTERS_ALONE, FOREST_ALONE, NEIGHBORS_ALONE
from perceptron_core.linear.declarations import OF_COUNTS, Label
from perceptron_core.linear.multiclass import check_classes
from perceptron_core.validation import check_whole


class HoeffdingForest(AutoClassifier):
    r"""Twenty Hoeffding trees with a linear model over all nodes that an event passes.

    Each tree sees each event with a weight drawn from Poisson(6). It uses all features if d ≤ 12, and
    otherwise max(12, ⌈d/4⌉) features drawn at random. A leaf counts the weights of each class in 64 bins of
    each feature: for a number, bins of u = z/(1 + |z|) with z standardised; for a category, its values. Bins
    of a number are shifted by up to one bin from tree to tree, so that together the trees find thresholds
    within a bin. Whenever its total weight has grown by 100 or an eighth, a leaf makes the best binary split
    by information gain G, if

        G₁ − G₂ > ε or ε < .05, and G₁ > .002, and each side has 1 % of the weights,
        ε = √(log₂²K·ln(1/.05)/2n)

    for K classes and total weight n, where G₂ is the best gain of another feature. Values of a category are
    divided in two by the share of a class among them. A tree is regrown, on other features, when its error
    over the last 100 events exceeds that over the last 2,000 by four standard deviations.

    The trees do not predict: each node, inner ones included, is a feature of the events that pass it, and
    `NormalizedAdaGrad` learns its weight. So there is a prediction before any split, and the weight of a node
    is not lost when it splits. Two classes share one such learner; of three or more, each has one.

    It differs from River's adaptive random forest, whose leaves predict by majority or naive Bayes, whose
    trees vote, choose among features at each node, split categories into one branch per value, and detect
    drift with ADWIN.

    It is the part "trees" of `AutoClassifier` and takes the same events: numbers that most events have,
    booleans, and strings of at most 32 characters, of which 62 values are distinguished. Longer texts are
    ignored.

    Parameters
    ----------
    classes
        All possible labels, two or more. None: the labels seen so far.
    seed
        Seed of the features and weights of the trees.
    max_columns
        Largest number of numeric features, and of categorical features, 0 to 256.

    Notes
    -----
    A tree has at most 1,000 nodes, and the counts of all leaves take 8 MiB: with more than 2,048/d classes,
    trees have fewer features. If the leaves have no room for a new class, all trees are regrown. In the
    trees' counts, the weight of an example is at most 16.

    References
    ----------
    Domingos, P. and Hulten, G. (2000). Mining high-speed data streams. Knowledge Discovery and Data Mining.

    Gomes, H. M. et al. (2017). Adaptive random forests for evolving data stream classification. Machine
    Learning 106. The weights, and regrowing.

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
    takes_text = False

    def __init__(self, classes: Sequence[Label] | None = None, seed: int = 1, max_columns: int = 64) -> None:
        check_whole("seed", seed, -(2**63), 2**63)
        check_whole("max_columns", max_columns, 0, MAX_COLUMNS)
        self.classes = None if classes is None else check_classes(classes)
        self.seed = seed
        self.max_columns = max_columns
        self.start(1, seed, max_columns, self.classes or (), FOREST_ALONE)


class NearestNeighbors(AutoClassifier):
    r"""A distance-weighted vote of the ten nearest among the last 1,000 labelled events.

    Numbers are standardised by their mean and variance so far, and clipped to ±4. The squared distance d² of
    two events is the sum of the squared differences of their numbers, plus 2 for each category that differs.
    With r the largest d² among the ten, and s_k the share of class k, discounted by .998 with each event,

            p_k ∝ s_k + Σ 2·(1 − .9·√(d²/r)),  summed over the events of class k among the ten

    It is the part "neighbours" of `AutoClassifier` and takes the same events: numbers that most events have,
    booleans, and strings of at most 32 characters, of which 62 values are distinguished. Longer texts are
    ignored. A missing number is replaced by the mean.

    Parameters
    ----------
    classes
        All possible labels, two or more. None: the labels seen so far.
    max_columns
        Largest number of numeric features, and of categorical features, 0 to 256.

    Notes
    -----
    Distances to all 1,000 events are computed, in 32-bit floats. A feature takes 4,000 bytes, also in a
    snapshot. An event of weight w counts w times in the vote and in the shares. Log-odds are clipped to ±8.

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
    takes_text = False
    WEIGHT = OF_COUNTS

    def __init__(self, classes: Sequence[Label] | None = None, max_columns: int = 64) -> None:
        check_whole("max_columns", max_columns, 0, MAX_COLUMNS)
        self.classes = None if classes is None else check_classes(classes)
        self.max_columns = max_columns
        self.start(1, 1, max_columns, self.classes or (), NEIGHBORS_ALONE)


class CharacterNaiveBayes(AutoClassifier):
    r"""Multinomial naive Bayes on the distinct 1- to 4-grams of a text's first 300 characters.

    Text is normalised to NFKC and case-folded. With m known grams in a text, c_gk counts of gram g in class
    k, and N_k counts of all grams in the n_k events of class k, p_k is proportional to the exponential of

        ln n_k + min(1, 30/m)·Σ_g [ln(c_gk + .05) − ln(N_k + .05·(V + 1))]

    for V known grams. Grams overlap and are far from independent: together, more than 30 grams count as 30,
    which keeps probabilities calibrated.

    It is the part "characters" of `AutoClassifier` and takes the same events: strings are texts; numbers and
    booleans are ignored.

    Parameters
    ----------
    classes
        All possible labels, two or more. None: the labels seen so far.
    hash_bits
        Indices of hashed grams are modulo 2**hash_bits; 1 to 16. A class takes 8 bytes for each index.

    Notes
    -----
    Probabilities are at least 3e-4, also for unseen classes. An example gives its weight to its grams.

    References
    ----------
    McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text classification. AAAI
    workshop on learning for text categorization.

    Cavnar, W. B. and Trenkle, J. M. (1994). N-gram-based text categorization. Document Analysis and
    Information Retrieval. Identification of languages by n-grams of characters.

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

    def __init__(self, classes: Sequence[Label] | None = None, hash_bits: int = MAX_BITS) -> None:
        check_whole("hash_bits", hash_bits, 1, MAX_BITS)
        self.classes = None if classes is None else check_classes(classes)
        self.hash_bits = hash_bits
        self.start(hash_bits, 1, 0, self.classes or (), CHARACTERS_ALONE)
