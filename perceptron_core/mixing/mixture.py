"""`Mixture`, a classifier that mixes other classifiers, and the status of its experts."""

from __future__ import annotations

import copy
import inspect
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from river import base

from perceptron_core import sparse_vectors as sparse
from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.elementary import log, log1p
from perceptron_core.linear import restored
from perceptron_core.linear.arow import AROW
from perceptron_core.linear.binary import BinaryClassifier, Features
from perceptron_core.linear.coin_betting import CoinBetting
from perceptron_core.linear.declarations import OF_LOSS, Term
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.normalized_adagrad import NormalizedAdaGrad
from perceptron_core.linear.scw import SCW
from perceptron_core.mixing.mixer import Mixer
from perceptron_core.validation import check_positive, example_weight, sign_of


class ExpertStatus(NamedTuple):
    """The status of an expert of a mixture."""

    name: str
    weight: float
    """Weight of its log-odds in the leader's prediction; with several classes, the mean weight."""
    mistakes: int
    """Number of its mistakes, over all labels."""
    recent_mistakes: float
    """Number of its mistakes, older ones discounted."""
    recent_labels: float
    """Number of labels with which it was evaluated, discounted in the same way."""
    weights: tuple[float, ...] = ()
    """Weights of its log-odds in the prediction of each mixer."""

    @property
    def recent_error(self) -> float | None:
        """Share of recent predictions that were wrong, 0-1; None before the first label."""
        return self.recent_mistakes / self.recent_labels if self.recent_labels else None


CLIP: Final = 8.0
"""Largest absolute log-odds that is mixed."""
_OF_MARGINS: Final = 4.0
"""Log-odds per score of a learner that is not logistic."""
_MAX_EXPERTS: Final = 256


def sparse_experts() -> tuple[BinaryClassifier, ...]:
    """Return the learners for sparse features, such as words: the best mixture on texts."""
    return (
        AROW(),
        AROW(10.0),
        SCW(),
        NormalizedAdaGrad(),
        NormalizedAdaGrad(epsilon=1e-4, margin=8.0),
        NormalizedAdaGrad(loss="hinge", margin=1.0),
        CoinBetting(),
    )


def checked_experts(experts: Iterable[Any]) -> tuple[Any, ...]:
    """Return experts as a tuple. Raises `TypeError` and `ValueError` for invalid ones."""
    checked = tuple(experts)
    if not 1 <= len(checked) <= _MAX_EXPERTS:
        raise ValueError(f"experts: expected 1 to {_MAX_EXPERTS}, got {len(checked)}")
    if len({*map(id, checked)}) < len(checked):
        raise ValueError(
            "experts: expected different ones, got one twice, which would learn each example twice"
        )
    for expert in checked:
        if not _gives_probabilities(expert):
            raise TypeError(f"experts: expected classifiers with predict_proba_one, got {name_of(expert)}")
    return checked


def _gives_probabilities(expert: Any) -> bool:
    """Return whether an expert has probabilities; a pipeline does if its last step does."""
    while steps := getattr(expert, "steps", None):
        expert = [*steps.values()][-1]
    method = getattr(type(expert), "predict_proba_one", base.Classifier.predict_proba_one)
    return method is not base.Classifier.predict_proba_one


def _is_ours(expert: Any) -> bool:
    """Return whether an expert is a learner of this package; `isinstance` of a River class takes 2 µs."""
    return BinaryClassifier in type(expert).__mro__


def scale_of(expert: Any) -> float:
    """Return the log-odds per score of an expert; 1 for a classifier of River, which has log-odds."""
    return _OF_MARGINS if _is_ours(expert) and not expert.has_log_odds else 1.0


def log_odds_of(expert: Any, x: Any) -> float:
    """Compute an expert's log-odds of True, without clipping."""
    if _is_ours(expert):
        score: float = expert._log_odds(expert.score_one(x))  # noqa: SLF001  of our own class
        return score if expert.has_log_odds else _OF_MARGINS * score
    probabilities = expert.predict_proba_one(x)
    return _logit(probabilities.get(True, 0.0) if probabilities else 0.5)


def clipped(z: float) -> float:
    """Return log-odds clipped to the range that is mixed."""
    return max(-CLIP, min(z, CLIP))


def _logit(p: float) -> float:
    """Compute log(p/(1 − p)); 0 if p is not a probability."""
    if math.isnan(p):
        return 0.0
    if 0.0 < p < 1.0:
        return log(p) - log1p(-p)
    return CLIP if p >= 1.0 else -CLIP


def learn(expert: Any, x: Any, y: bool, w: float) -> None:
    """Update an expert with an example; many River classifiers do not take weights."""
    if _is_ours(expert):
        expert.learn_one(x, y, w)
    elif w != 1.0:
        expert.learn_one(x, y, w=w)
    else:
        expert.learn_one(x, y)


def check_weight(experts: Iterable[Any], w: float) -> None:
    """Raise `TypeError` with the name of an expert that does not take the weight."""
    if w in {0.0, 1.0}:
        return
    for expert in experts:
        parameters = inspect.signature(expert.learn_one).parameters
        if "w" not in parameters and all(p.kind is not p.VAR_KEYWORD for p in parameters.values()):
            raise TypeError(f"{name_of(expert)} does not support example weights, got {w:g}")


def is_linear(expert: Any) -> bool:
    """Return whether an expert's score is a sum over features."""
    return isinstance(expert, LinearRule | HashedClassifier) or getattr(expert, "is_linear", False)


def weights_at(expert: Any, x: Any) -> list[float]:
    """Return a linear expert's weights of the features of `x`, then its intercept."""
    *features, (_, _, bias) = expert._terms(x)  # noqa: SLF001  of our own class
    return [*(weight for _, _, weight in features), intercept_of(expert, bias)]


def intercept_of(expert: Any, bias: float) -> float:
    """Return the intercept of an expert's log-odds."""
    return float(expert._log_odds(bias))  # noqa: SLF001  of our own class


def name_of(expert: Any) -> str:
    """Return the name of an expert: its class and, for learners of this package, non-default parameters."""
    if steps := getattr(expert, "steps", None):
        return " | ".join(map(name_of, steps.values()))
    if not _is_ours(expert):
        return type(expert).__name__
    parameters = inspect.signature(type(expert)).parameters.items()
    values = [(name, getattr(expert, name), parameter.default) for name, parameter in parameters]
    shown = [f"{name}={_shown(value)}" for name, value, default in values if value != default]
    return f"{type(expert).__name__}({', '.join(shown)})" if shown else type(expert).__name__


def _shown(value: Any) -> str:
    """Format a parameter; for a classifier, its name."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return name_of(value) if isinstance(value, base.Base) else repr(value)


_MAX_MIXERS: Final = 16
_MAX_VARIANCE: Final = 1e3


class Mixture(BinaryClassifier):
    """A mixture of experts: logistic mixing, where the candidate with the fewest recent mistakes predicts.

    Each expert predicts a log-odds z of True, before it sees the label. Mixers combine them to one
    log-odds v·z, and learn v online with different rates of forgetting. The mixture predicts the
    candidate with the fewest recent mistakes; candidates are the mixers and the first expert. For every
    example

        the leader's prediction is returned
        Mₖ ← d·Mₖ + [prediction k was wrong], for each mixer and expert
        each mixer learns z, each expert learns x
        the first of the candidates with the least Mₖ leads

    where a Newton step updates a mixer's v and the covariance S of its weights: with p = σ(v·z), q = p(1 −
    p), g = S·z and f = 1/(1 + q·z·g)

        v ← v + f·(y − p)·g,  S ← (S − f·q·g·gᵀ)/λ

    Rows and columns of S are shrunk so that no variance exceeds the first one, s₀.
    A mixer ignores examples with |y − p| < 0.001.

    Parameters
    ----------
    experts
        Two-class learners of this package, and any classifiers or pipelines of River with probabilities; 1 to
        256. They continue to learn with the mixture. None: seven learners for sparse features, such as words.
    mixers
        s₀ and λ of each mixer: 0 < s₀ ≤ 1000, 0 < λ ≤ 1.
    discount
        d in (0, 1]: the discount of older mistakes with each example.

    Attributes
    ----------
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Number of updates: one for every example.

    Notes
    -----
    The log-odds z of an expert is clipped to ±8. It is the score of a learner with logistic loss, four times
    the score of other learners of this package, and log(p/(1 − p)) of any other expert's probability p. If an
    expert returns no probability, z = 0. Initially v = 1/K for each of K experts.

    The weight of an example multiplies its loss; it is at most 1e6 in mixers, and mistakes count 1. Experts
    that do not support weights only accept examples of weight 1.

    If all experts are learners of this package, `to_bytes` saves the mixture. Others can be pickled.

    Features that are strings need experts that accept them; no learner of this package does.

    References
    ----------
    Mattern, C. (2012). Mixing strategies in data compression. Data Compression Conference.

    Littlestone, N. and Warmuth, M. (1994). The weighted majority algorithm. Information and Computation
    108(2). The choice of the expert by mistakes.

    Examples
    --------
    >>> from perceptron_core import BayesianLogistic, Mixture, NormalizedAdaGrad
    >>> from river import datasets, evaluate, metrics, naive_bayes, preprocessing
    >>> model = preprocessing.StandardScaler() | Mixture(
    ...     [naive_bayes.GaussianNB(), BayesianLogistic(), NormalizedAdaGrad()]
    ... )
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.52%

    The weight of each expert, and its own mistakes:

    >>> for expert in model["Mixture"].expert_statuses:
    ...     print(f"{expert.name:<20} {expert.weight:5.2f} {expert.mistakes:4}")
    GaussianNB           -0.04  150
    BayesianLogistic      0.61  132
    NormalizedAdaGrad     0.53  128

    """

    NAME = "mixture"
    WEIGHT = OF_LOSS
    has_log_odds = True

    def __init__(
        self,
        experts: Sequence[base.Classifier] | None = None,
        mixers: Sequence[tuple[float, float]] = ((0.1, 0.999), (0.02, 1.0)),
        discount: float = 0.9997,
    ) -> None:
        super().__init__()
        check_positive("discount", discount, 1)
        self.experts: tuple[Any, ...] = sparse_experts() if experts is None else checked_experts(experts)
        self.mixers = _checked_mixers(mixers)
        self.discount = float(discount)
        self._mixers = [Mixer(variance, forgetting) for variance, forgetting in self.mixers]
        for mixer in self._mixers:
            for _ in self.experts:
                mixer.add_input(1.0 / len(self.experts))
        self._mistakes = [0] * len(self.experts)
        self._losses = [0.0] * (len(self.mixers) + len(self.experts))

    @property
    def leader(self) -> int:
        """The number of the leading candidate, whose prediction is returned."""
        return min(range(len(self.mixers) + 1), key=self._losses.__getitem__)

    @property
    def candidates(self) -> list[str]:
        """The names of the candidates: the mixers, then the first expert."""
        mixers = [f"mixer({variance:g}, {forgetting:g})" for variance, forgetting in self.mixers]
        return [*mixers, name_of(self.experts[0])]

    @property
    def expert_statuses(self) -> list[ExpertStatus]:
        """The name of each expert, its weights, and its mistakes."""
        weights = [mixer.weights for mixer in self._mixers]
        recent = self._losses[len(self.mixers) :]
        n, d = self.n_updates, self.discount
        labels = float(n) if d == 1 else (1.0 - d**n) / (1.0 - d)
        return [
            ExpertStatus(name_of(expert), share, mistakes, loss, labels, tuple(each[k] for each in weights))
            for k, (expert, share, mistakes, loss) in enumerate(
                zip(self.experts, self._shares(), self._mistakes, recent, strict=True)
            )
        ]

    @property
    def is_linear(self) -> bool:
        """Whether the log-odds is a sum over features, as with every expert."""
        return all(map(is_linear, self.experts))

    @property
    def weights(self) -> sparse.Vector:
        """The sum of the experts' weights, as weighted by the leader. Computed on access.

        It ignores the clipping of large log-odds. Raises `AttributeError` unless all experts are linear.
        """
        total: sparse.Vector = {}
        for expert, share in self._linear():
            sparse.add(total, expert.weights, share)
        return total

    @property
    def bias(self) -> float:
        """The sum of the experts' biases, as weighted by the leader. Raises `AttributeError` as `weights`."""
        total = 0.0
        for expert, share in self._linear():
            total += share * intercept_of(expert, expert.bias)
        return total

    def score_one(self, x: Features) -> float:
        """Compute the leader's log-odds. Raises errors of experts, such as `FeatureError`."""
        return self._predictions(self._inputs(x))[self.leader]

    def update_one(self, x: Features, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one`; return y·w, y ∈ {−1, +1}, as every example is an update."""
        return self.predict_learn(x, y, w)[1]

    def predict_learn(self, x: Features, y: Any, w: float = 1.0) -> tuple[float, float]:
        """Score one example, then learn from it; see `BinaryClassifier.predict_learn`."""
        sign, weight = sign_of(y), example_weight(w)
        check_weight(self.experts, weight)
        inputs = self._inputs(x)
        predictions = self._predictions(inputs)
        score = predictions[self.leader]
        if weight > 0:
            self._learn(x, sign > 0, weight, inputs, predictions)
        return score, sign * weight

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """Return a mixture with the same parameters; with `include_attributes`, also the learned state."""
        fresh = [copy.deepcopy(expert) if include_attributes else expert.clone() for expert in self.experts]
        return super().clone({"experts": fresh} | (new_params or {}), include_attributes)

    def _inputs(self, x: Features) -> array[float]:
        """Return each expert's clipped log-odds."""
        return array("d", [clipped(log_odds_of(expert, x)) for expert in self.experts])

    def _predictions(self, inputs: array[float]) -> list[float]:
        """Return the predictions of the mixers, then of the experts."""
        return [*(mixer.mix(inputs) for mixer in self._mixers), *inputs]

    def _learn(self, x: Features, y: bool, w: float, inputs: array[float], predictions: list[float]) -> None:
        for expert in self.experts:
            learn(expert, x, y, w)
        for mixer, log_odds in zip(self._mixers, predictions, strict=False):
            mixer.learn(inputs, y, w, log_odds)
        wrong = [(log_odds > 0) != y for log_odds in predictions]
        self.n_mistakes += wrong[self.leader]
        self._losses = [self.discount * loss + each for loss, each in zip(self._losses, wrong, strict=True)]
        of_experts = wrong[len(self.mixers) :]
        self._mistakes = [made + each for made, each in zip(self._mistakes, of_experts, strict=True)]
        self.n_updates += 1

    def _shares(self) -> list[float]:
        """Return the weight of each expert's log-odds in the leader's prediction."""
        leader = self.leader
        if leader < len(self.mixers):
            return self._mixers[leader].weights
        return [1.0, *[0.0] * (len(self.experts) - 1)]

    def _linear(self) -> Iterator[tuple[Any, float]]:
        """Yield the experts, each with the weight of its score. Raises `AttributeError`."""
        for expert, share in zip(self.experts, self._shares(), strict=True):
            if not is_linear(expert):
                raise AttributeError(f"this mixture has no weights, as its {name_of(expert)} has none")
            yield expert, share * scale_of(expert)

    def _terms(self, x: Features) -> Iterator[Term]:
        """Yield the terms of the score: features and the bias, or experts if not all are linear."""
        if not self.is_linear:
            for expert, share, z in zip(self.experts, self._shares(), self._inputs(x), strict=True):
                yield name_of(expert), z, share
            return
        totals = [0.0] * (len(x) + 1)
        for expert, share in self._linear():
            z = abs(log_odds_of(expert, x))
            if z > CLIP:
                share *= CLIP / z  # noqa: PLW2901  the weight of what is mixed
            for k, weight in enumerate(weights_at(expert, x)):
                totals[k] += share * weight
        for (name, value), weight in zip(x.items(), totals, strict=False):
            yield name, value, weight
        yield "Intercept", 1.0, totals[-1]

    def _read_state(self, read: restored.Read) -> dict[str, Any]:
        return super()._read_state(read) | {
            "experts": [expert._get_state() for expert in self.experts],  # noqa: SLF001  of our own class
            "mixers": [mixer.get_state() for mixer in self._mixers],
            "mistakes": [*self._mistakes],
            "losses": [*self._losses],
        }

    def _set_state(self, state: Mapping[str, Any]) -> None:
        super()._set_state(state)
        for expert, learned in zip(self.experts, state["experts"], strict=True):
            expert._set_state(learned)  # noqa: SLF001  of our own class
        for mixer, learned in zip(self._mixers, state["mixers"], strict=True):
            mixer.set_state(learned)
            if mixer.n != len(self.experts):
                raise ValueError(f"{mixer.n} weights for {len(self.experts)} experts")
        self._mistakes = restored.several(state["mistakes"], restored.count, len(self.experts))
        self._losses = restored.several(state["losses"], restored.size, len(self._losses))


def _checked_mixers(mixers: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return s₀ and λ of each mixer. Raises `ValueError` for values out of bounds."""
    pairs = tuple((float(variance), float(forgetting)) for variance, forgetting in mixers)
    if not 1 <= len(pairs) <= _MAX_MIXERS:
        raise ValueError(f"mixers: expected 1 to {_MAX_MIXERS} pairs, got {len(pairs)}")
    for variance, forgetting in pairs:
        if not (0 < variance <= _MAX_VARIANCE and 0 < forgetting <= 1):
            raise ValueError(
                f"mixers: expected a variance above 0 and at most {_MAX_VARIANCE:g}, and a forgetting "
                f"above 0 and at most 1, got {(variance, forgetting)}"
            )
    return pairs
