"""Naive Bayes on n-grams of characters, for texts in any script."""

from __future__ import annotations

from collections.abc import Sequence

from perceptron_core.auto.auto_classifier import AutoClassifier, check_whole
from perceptron_core.auto.characters import MOST_BITS
from perceptron_core.auto.plan import CHARACTERS_ALONE
from perceptron_core.base.example_weights import OF_COUNTS
from perceptron_core.base.multiclass import check_classes
from perceptron_core.base.update import Label


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
