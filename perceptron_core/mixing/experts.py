"""The experts of a mixture, classifiers of this package or of River: their names and log-odds."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import Any, Final

from river import base

from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.base.binary import BinaryClassifier
from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.binary.arow import AROW
from perceptron_core.binary.coin_betting import CoinBetting
from perceptron_core.binary.normalized_adagrad import NormalizedAdaGrad
from perceptron_core.binary.scw import SCW
from perceptron_core.elementary import log, log1p

CLIP: Final = 8.0
"""Of the log-odds that are mixed."""
_OF_MARGINS: Final = 4.0
"""Log-odds of a score of 1 of a learner that is not logistic."""
_MOST: Final = 256


def sparse_experts() -> tuple[BinaryClassifier, ...]:
    """Make the learners of sparse features, such as words: those whose mixture errs least on texts."""
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
    """Return experts as a tuple. Raises TypeError and ValueError for what cannot be mixed."""
    found = tuple(experts)
    if not 1 <= len(found) <= _MOST:
        raise ValueError(f"a mixture takes from 1 to {_MOST} experts, not {len(found)}")
    if len({*map(id, found)}) < len(found):
        raise ValueError("an expert is there twice; it would learn each example twice")
    for expert in found:
        if not _gives_probabilities(expert):
            raise TypeError(f"{name_of(expert)} gives no probability: it needs predict_proba_one")
    return found


def _gives_probabilities(expert: Any) -> bool:
    """Return whether it does; a pipeline does what its last step does."""
    while steps := getattr(expert, "steps", None):
        expert = [*steps.values()][-1]
    method = getattr(type(expert), "predict_proba_one", base.Classifier.predict_proba_one)
    return method is not base.Classifier.predict_proba_one


def _is_ours(expert: Any) -> bool:
    """Return whether it is a learner of this package; `isinstance` of a class of River takes 2 µs."""
    return BinaryClassifier in type(expert).__mro__


def scale_of(expert: Any) -> float:
    """Return the log-odds of a score of 1; of a classifier of River, whose log-odds are its own, 1."""
    return _OF_MARGINS if _is_ours(expert) and not expert.has_log_odds else 1.0


def log_odds_of(expert: Any, x: Any) -> float:
    """Compute the log-odds of True, beyond no bound."""
    if _is_ours(expert):
        score: float = expert._log_odds(expert.score_one(x))  # noqa: SLF001  of our own class
        return score if expert.has_log_odds else _OF_MARGINS * score
    probabilities = expert.predict_proba_one(x)
    return _logit(probabilities.get(True, 0.0) if probabilities else 0.5)


def clipped(z: float) -> float:
    """Return log-odds as they are mixed."""
    return max(-CLIP, min(z, CLIP))


def _logit(p: float) -> float:
    """Compute log(p/(1 − p)); what is no probability says nothing."""
    if math.isnan(p):
        return 0.0
    if 0.0 < p < 1.0:
        return log(p) - log1p(-p)
    return CLIP if p >= 1.0 else -CLIP


def learn(expert: Any, x: Any, y: bool, w: float) -> None:
    """Let an expert learn an example; many of River's know no weights."""
    if _is_ours(expert):
        expert.learn_one(x, y, w)
    elif w != 1.0:
        expert.learn_one(x, y, w=w)
    else:
        expert.learn_one(x, y)


def check_weight(experts: Iterable[Any], w: float) -> None:
    """Refuse a weight that an expert cannot take. Raises TypeError, which names it."""
    if w in {0.0, 1.0}:
        return
    for expert in experts:
        parameters = inspect.signature(expert.learn_one).parameters
        if "w" not in parameters and all(p.kind is not p.VAR_KEYWORD for p in parameters.values()):
            raise TypeError(f"{name_of(expert)} takes no weights of examples; this one has {w:g}")


def is_linear(expert: Any) -> bool:
    """Return whether the score is a sum over features."""
    return isinstance(expert, LinearRule | HashedClassifier) or getattr(expert, "is_linear", False)


def weights_at(expert: Any, x: Any) -> list[float]:
    """Return the weights of the features of `x`, then the intercept, of an expert that is linear."""
    *features, (_, _, bias) = expert._terms(x)  # noqa: SLF001  of our own class
    return [*(weight for _, _, weight in features), intercept_of(expert, bias)]


def intercept_of(expert: Any, bias: float) -> float:
    """Return the intercept of an expert's log-odds."""
    return float(expert._log_odds(bias))  # noqa: SLF001  of our own class


def name_of(expert: Any) -> str:
    """Name an expert: its class and, of this package's learners, the parameters that are not the default."""
    if steps := getattr(expert, "steps", None):
        return " | ".join(map(name_of, steps.values()))
    if not _is_ours(expert):
        return type(expert).__name__
    parameters = inspect.signature(type(expert)).parameters.items()
    values = [(name, getattr(expert, name), parameter.default) for name, parameter in parameters]
    shown = [f"{name}={_shown(value)}" for name, value, default in values if value != default]
    return f"{type(expert).__name__}({', '.join(shown)})" if shown else type(expert).__name__


def _shown(value: Any) -> str:
    """Write a parameter; of a classifier, its name."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return name_of(value) if isinstance(value, base.Base) else repr(value)
