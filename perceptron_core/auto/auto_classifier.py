"""`AutoClassifier`, a classifier without a choice of learner or preprocessing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from river import base

from perceptron_core.auto.plan import plan_of
from perceptron_core.auto.rule import AutoRule
from perceptron_core.elementary import log, logistic
from perceptron_core.linear import data_frames, restored
from perceptron_core.linear.declarations import OF_LOSS, Label
from perceptron_core.linear.multiclass import check_classes, checked_label
from perceptron_core.validation import check_whole, example_weight

_MAX_BITS: Final = 26
MAX_COLUMNS: Final = 256
_TWO_CLASSES: Final = 2
_MIN_PROBABILITY: Final = 1e-100
"""Smallest probability of one of several classes, so that their sum is above 0."""


class AutoClassifier(AutoRule, base.MiniBatchClassifier):
    r"""A mixture of many learners over features that it makes itself; no parameter needs to be set.

    It takes raw events, of numbers, booleans, categories and texts in any combination, and two or more
    classes. Numbers that most events have are standardised online and encoded in five ways: unchanged, with
    hat functions, with a grid for pairs of columns, and twice as random Fourier features. Words, pairs of
    words, short strings, booleans and other numbers are hashed into one feature map, 4-grams of
    characters into another. Each map has some learners (`experts`), and mixers combine their log-odds. The
    mixer, or single expert, with the least recent loss predicts. If a mixer leads, its
    log-odds are averaged with those of a second mixer.

    Parameters
    ----------
    classes
        All possible labels, two or more. None: the labels seen so far.
    seed
        Seed of the random features and the pairs of columns.
    hash_bits
        Indices of hashed features are modulo 2**hash_bits, in each of the two maps; 1 to 26.
    max_columns
        Largest number of features that are dense columns, 0 to 256; others are hashed. Also the largest
        number of categorical features in trees.
    effort
        "high", or "low": without trees, nearest neighbours and naive Bayes, and with two mixers, in half the
        time.

    Attributes
    ----------
    labels : list
        Classes in the order of their first occurrence, which breaks ties.
    experts : list of ExpertStatus
        For each expert: its name, its weight in the leader's prediction, its mistakes.
    candidates : list of str
        The candidates for the lead: the mixtures, and experts that may predict by themselves.
    leader : int
        Number of the leading candidate.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Examples learned; each is an update.

    Notes
    -----
    A string is a text: its features are its words in lower case, pairs of neighbouring words, and the 4-grams
    of its first 3,000 characters. A string of at most 32 characters is a category, too. A symbol such as an
    emoji is a word, and so is each pair of neighbouring characters of a script without spaces, such as Han,
    Kana and Thai. After the first text of more than 32 characters, naive Bayes on the characters of texts
    joins the experts.

    Hoeffding trees, boosted trees and the ten nearest of the last 1,000 events use numbers and categories.

    None is a missing value. Differences below 1e-150 within a column may be ignored. A number becomes a
    column if the first event has it (unless all numbers of that event are 1), or if half of the events since
    its first occurrence have it. It stops being a column when three of four events lack it.

    While at most 64 other labels arrive between an event and its label, one candidate is a mixer whose inputs
    include the share of each class among the last labels. The first later label removes it, until 1,000
    labels in a row are in time. Meanwhile a mixer with small steps replaces it, and the prediction is a
    weighted combination of the candidates.

    Two classes share their learners; of three or more, each has separate learners, one against the rest. Time
    and memory grow with the number of classes.

    Memory grows with the features seen, up to 2**hash_bits in each map: 160 bytes for each feature and class,
    and initially 4 bytes for each index. An example of weight w counts w times in the losses, but
    at most once in the choice of the candidates.

    The same seed gives bit-identical predictions.

    References
    ----------
    Littlestone, N. and Warmuth, M. K. (1994). The weighted majority algorithm. Information and Computation
    108(2). The prediction of the experts with the fewest mistakes.

    Mattern, C. (2012). Mixing strategies in data compression. Data Compression Conference. See `Mixer`.

    Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines. Advances in Neural
    Information Processing Systems 20.

    Examples
    --------
    >>> from perceptron_core import AutoClassifier
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(), metrics.Accuracy())
    Accuracy: 91.51%

    Events of any types:

    >>> model = AutoClassifier()
    >>> model.learn_one({"from": "bank", "text": "You won a prize!", "links": 3}, True)
    >>> model.learn_one({"from": "mum", "text": "See you at noon"}, False)
    >>> model.predict_one({"text": "Claim your prize now", "links": 2})
    True

    """

    NAME = "auto"
    WEIGHT = OF_LOSS
    has_log_odds: ClassVar[bool] = True
    takes_text: ClassVar[bool] = True

    def __init__(
        self,
        classes: Sequence[Label] | None = None,
        seed: int = 1,
        hash_bits: int = 18,
        max_columns: int = 64,
        effort: str = "high",
    ) -> None:
        check_whole("seed", seed, -(2**63), 2**63)
        check_whole("hash_bits", hash_bits, 1, _MAX_BITS)
        check_whole("max_columns", max_columns, 0, MAX_COLUMNS)
        self.classes = None if classes is None else check_classes(classes)
        self.seed = seed
        self.hash_bits = hash_bits
        self.max_columns = max_columns
        self.effort = effort
        self.start(hash_bits, self.seed, max_columns, self.classes or (), plan_of(effort))

    learn_many = data_frames.learn_many
    predict_many = data_frames.predict_many
    predict_proba_many = data_frames.predict_proba_many
    _learn_leading = data_frames.no_row_learned
    _predict_leading = _predict_proba_leading = data_frames.no_row_predicted

    def _known_classes(self) -> Collection[Label]:
        """Return the classes in the order of their first occurrence."""
        return self.labels

    @property
    def _multiclass(self) -> bool:
        return True

    def score_one(self, x: Any) -> float:
        """Return the log-odds of the predicted class; with two classes, of the second class.

        0 before any class is known. Raises `FeatureError` as `predict_one` does.
        """
        log_odds = self.log_odds(x)
        if len(log_odds) > _TWO_CLASSES:
            return self.relative_log_odds(log_odds, self.decide(log_odds))
        return log_odds[-1] if log_odds else 0.0

    def predict_one(self, x: Any, **_: Any) -> Any:
        """Predict the class of `x`: None before any class is known.

        Raises `FeatureError` for a value that is not a number, boolean, string or None, a number that is not
        finite or is larger than 1e100, or a string with a lone surrogate.
        """
        number = self.number_of_class(x)
        return None if number < 0 else self.labels[number]

    def predict_proba_one(self, x: Any, **_: Any) -> dict[Any, float]:
        """Return the probability of each class, from the leader's log-odds.

        Raises `FeatureError` as `predict_one` does.
        """
        return self.probabilities(self.log_odds(x))

    def probabilities(self, log_odds: Sequence[float]) -> dict[Any, float]:
        """Return the probability of each class, given its log-odds."""
        powers = [max(logistic(each), _MIN_PROBABILITY) for each in log_odds]
        total = 0.0
        for power in powers:  # `sum` of floats differs between Python 3.11 and 3.12
            total += power
        return {label: p / total for label, p in zip(self.labels, powers, strict=True)}

    @staticmethod
    def decide(log_odds: Sequence[float]) -> int:
        """Return the number of the class with the highest log-odds; at a tie, the first of them."""
        return max(range(len(log_odds)), key=log_odds.__getitem__)

    def relative_log_odds(self, log_odds: Sequence[float], number: int) -> float:
        """Return the log-odds of a class's probability, as from `probabilities`."""
        p = self.probabilities(log_odds)[self.labels[number]]
        return log(max(p, _MIN_PROBABILITY)) - log(max(1.0 - p, _MIN_PROBABILITY))

    def learn_one(self, x: Any, y: Any, w: float = 1.0, prediction_context: bytes = b"") -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            The event: values by name, or a text.
        y
            The class: anything hashable but None and NaN; one of `classes`, if these were given.
        w
            Weight of the example; 0: the model does not change.
        prediction_context
            For a late label, the result of `prediction_context()` after the event's prediction. The experts
            are then evaluated by their predictions at that time. Without it, the label counts as prompt.

        Raises
        ------
        FeatureError, LabelError
            See their docstrings; the model stays unchanged.
        ValueError
            `w` is negative, not finite or above 1e25, or `prediction_context` is invalid.

        """
        self.learn(x, self.check_label(y), example_weight(w), prediction_context)

    def check_label(self, label: Any) -> Label:
        """Return a label in normal form. Raises `LabelError` if it is not one of `classes`."""
        return checked_label(label, self.numbers, self.classes)

    def _set_state(self, state: Mapping[str, Any]) -> None:
        restored.classes(state["labels"], self.classes)
        super()._set_state(state)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """Return a model with the same parameters; with `include_attributes`, also with the learned state."""
        return restored.clone(self, new_params, include_attributes=include_attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return restored.reduce(self)
