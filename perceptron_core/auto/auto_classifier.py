"""`AutoClassifier`, a classifier that needs no choice of learner or preprocessing."""

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
from perceptron_core.validation import example_weight

_MOST_BITS: Final = 26
MOST_COLUMNS: Final = 256
_TWO_CLASSES: Final = 2
_SMALLEST: Final = 1e-100
"""Smallest probability of one of several classes, so that a sum above 0 remains."""


class AutoClassifier(AutoRule, base.MiniBatchClassifier):
    r"""A mixture of many linear learners over features that it makes itself; no parameter needs to be set.

    It takes raw events: numbers, booleans, categories and texts, in any combination, of two classes
    or several. Numbers that most events have are standardised as they come and shown in six forms: as they
    are, through asinh, with hat functions, with a grid for pairs of columns, and twice as random Fourier
    features. Words, pairs of words, short strings, booleans and other numbers are hashed into one map,
    4-grams of characters into another. On each form some learners run (`experts`), and mixers weigh their
    log-odds. The answer is that of the mixers, or of the one learner, with the fewest mistakes lately.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    seed
        Of the random features and the pairs of columns.
    hash_bits
        Hashed features count modulo 2**hash_bits, in each of the two maps; 1 to 26.
    max_columns
        Most features that are shown as dense numbers, 0 to 256; others are hashed. As many may be categories
        in trees.
    effort
        "high", or "low": without trees, nearest events and naive Bayes and with two mixers, in half the time.

    Attributes
    ----------
    labels : list
        Classes in the order they were met, which breaks ties.
    experts : list of ExpertStatus
        Each learner: its name, its weight in the answer that leads, its mistakes.
    candidates : list of str
        What may lead: the mixtures, and the learners that may answer alone.
    leader : int
        Number of the candidate that leads.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Examples learned: each is an update.

    Notes
    -----
    A string is a text: its words, without distinctions of case, pairs of neighbours, and the 4-grams of its
    first 3,000 characters; one of at most 32 characters is a category besides. A symbol such as an emoji is a
    word, and so is each pair of neighbouring characters of a script without spaces, such as Han, Kana and
    Thai. Once a text has had more than 32 characters, naive Bayes on the characters of texts joins.

    Of numbers and categories, trees and the ten nearest of the last 1,000 events answer besides.

    None is a missing value. Differences below 1e-150 in a column may count as none. A number is a column if
    the first event has it (unless all its numbers are 1), or if half of the events since it came have it; it
    is one no more when three events of four lack it.

    As long as at most 64 other labels come between an event and its own, a mixer that knows the share of each
    class among the last labels is a candidate. The first that is later ends that, until 1,000 in a row are
    not; meanwhile a mixer with small steps takes its place, and the candidates answer together.

    Two classes share the learners; three or more have learners of their own, each class against the others.
    Time and memory grow with the number of classes.

    Memory grows with the features seen, up to 2**hash_bits in each map: 160 bytes for each and class, and
    4 bytes for each index from the start. An example of weight w counts w times in the losses.

    The same seed gives the same answers to the bit.

    References
    ----------
    Littlestone, N. and Warmuth, M. K. (1994). The weighted majority algorithm. Information and Computation
    108(2). Following the experts with the fewest mistakes.

    Mattern, C. (2012). Mixing strategies in data compression. Data Compression Conference. See `Mixer`.

    Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines. Advances in Neural
    Information Processing Systems 20.

    Examples
    --------
    >>> from perceptron_core import AutoClassifier
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(), metrics.Accuracy())
    Accuracy: 90.95%

    Events need not be numbers:

    >>> model = AutoClassifier()
    >>> model.learn_one({"from": "bank", "text": "You won a prize!", "links": 3}, True)
    >>> model.learn_one({"from": "mum", "text": "See you at noon"}, False)
    >>> model.predict_one({"text": "Claim your prize now", "links": 2})
    True

    """

    NAME = "auto"
    WEIGHT = OF_LOSS
    has_log_odds: ClassVar[bool] = True

    def __init__(
        self,
        classes: Sequence[Label] | None = None,
        seed: int = 1,
        hash_bits: int = 18,
        max_columns: int = 64,
        effort: str = "high",
    ) -> None:
        check_whole("seed", seed, -(2**63), 2**63)
        check_whole("hash_bits", hash_bits, 1, _MOST_BITS)
        check_whole("max_columns", max_columns, 0, MOST_COLUMNS)
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
        """Return the classes in the order they were met."""
        return self.labels

    @property
    def _multiclass(self) -> bool:
        return True

    def score_one(self, x: Any) -> float:
        """Return the log-odds of the predicted class; with two classes, always those of the second.

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
        """Return the probability of each class, by the log-odds of the answer that leads.

        Raises `FeatureError` as `predict_one` does.
        """
        return self.probabilities(self.log_odds(x))

    def probabilities(self, log_odds: Sequence[float]) -> dict[Any, float]:
        """Return the probability of each class, given its log-odds."""
        powers = [max(logistic(each), _SMALLEST) for each in log_odds]
        total = 0.0
        for power in powers:  # `sum` of floats differs between Python 3.11 and 3.12
            total += power
        return {label: p / total for label, p in zip(self.labels, powers, strict=True)}

    @staticmethod
    def decide(log_odds: Sequence[float]) -> int:
        """Return the number of the class with the highest log-odds, the first of them at a tie."""
        return max(range(len(log_odds)), key=log_odds.__getitem__)

    def relative_log_odds(self, log_odds: Sequence[float], number: int) -> float:
        """Return the log-odds of the probability that `probabilities` returns for a class."""
        p = self.probabilities(log_odds)[self.labels[number]]
        return log(max(p, _SMALLEST)) - log(max(1.0 - p, _SMALLEST))

    def learn_one(self, x: Any, y: Any, w: float = 1.0, prediction_context: bytes = b"") -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            The event: values by name, or a text.
        y
            The class: anything hashable but None and NaN; one of `classes`, if these were given.
        w
            Weight of the example; 0 leaves everything as it was.
        prediction_context
            For a late label: what `prediction_context()` returned when the event was predicted. The learners
            are then evaluated by their answers at that time. Without it, the label counts as a prompt one.

        Raises
        ------
        FeatureError, LabelError
            As the names say; the model stays unchanged.
        ValueError
            If `w` is negative, not finite, or above 1e25, or `prediction_context` is not one.

        """
        self.learn(x, self.check_label(y), example_weight(w), prediction_context)

    def check_label(self, label: Any) -> Label:
        """Return a label in the form in which it is kept. Raises `LabelError` if `classes` lack it."""
        return checked_label(label, self.numbers, self.classes)

    def _set_state(self, state: Mapping[str, Any]) -> None:
        restored.classes(state["labels"], self.classes)
        super()._set_state(state)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """Make a model of the same parameters; with `include_attributes`, with all that was learned."""
        return restored.clone(self, new_params, include_attributes=include_attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return restored.reduce(self)


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Raise ValueError if a value is not a whole number within these bounds."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
