"""Compute the contribution of each feature to the log-odds of a mixture.

The experts are linear in the features of their maps, and the mixture is linear in their predictions: so the
log-odds is a sum over features. Random Fourier features depend on all columns; their sum is one term.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from math import fsum
from typing import Any, Final, NamedTuple

from perceptron_core.auto.ensemble import Ensemble, ExpertMistakes
from perceptron_core.auto.plan import BOOSTED, CHARACTERS, FOURIER, NEIGHBORS, WIDE
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.mixing.mixture import ExpertStatus
from perceptron_core.text.scripts import folded, tokens_of
from perceptron_core.weights.example import Example

RANDOM_FEATURES: Final = "random features of the numbers"
TREES: Final = "trees"
"""Name of the contribution of the trees' roots, which is the same for all events."""
CHARACTERS_OF_TEXT: Final = "characters of the text"
NEAREST: Final = "nearest events"
REST_OF_TEXT: Final = "the rest of a long text"
MAX_ENTRIES: Final = 1000
"""Number of an event's hashed features that are listed separately; further ones are merged."""
MAX_NAMED: Final = 10 * MAX_ENTRIES
"""Largest number of an event's n-grams that are named, so that the time is bounded."""
_MAX_CHARACTERS: Final = 32 * MAX_ENTRIES
"""Number of a text's first characters whose words are named."""
OTHER_CLASSES: Final = "the other classes"
"""Name of the contribution of the other classes' probabilities, with several classes."""


class Contribution(NamedTuple):
    """The contribution of one feature."""

    name: str
    value: float | None
    """The value of the feature; for a word, its value in the map; None if there is no single value."""
    contribution: float


def statuses(
    ensembles: Sequence[Ensemble], weights: Sequence[Sequence[float]], mistakes: ExpertMistakes
) -> list[ExpertStatus]:
    """Return the experts, with their weights in predictions of leader and mixers, and their mistakes."""
    if not ensembles:
        return []
    n_mixers = range(len(ensembles[0].mixers))
    columns = [weights, *([ensemble.weights_in(m) for ensemble in ensembles] for m in n_mixers)]
    means = [[sum(of_one) / len(ensembles) for of_one in zip(*column, strict=True)] for column in columns]
    return [
        ExpertStatus(name, means[0][k], *mistakes.counts_of(k), tuple(of_mixer[k] for of_mixer in means[1:]))
        for k, name in enumerate(ensembles[0].names)
    ]


def contributions(
    ensemble: Ensemble,
    weights: Sequence[float],
    examples: Sequence[Example],
    names: Sequence[Sequence[str]],
    boosted: Mapping[str, float],
) -> tuple[dict[str, float], float]:
    """Split a prediction, given the weights of the experts, into contributions by name, and intercepts.

    `boosted` are the contributions to the prediction of boosted trees.
    """
    found: defaultdict[str, float] = defaultdict(float)
    intercept = 0.0
    for k, share in enumerate(weights):
        score, log_odds = ensemble.score_of(k)
        if not share or not log_odds:
            continue
        scale = share * log_odds / score
        number = ensemble.map_of(k)
        if number == BOOSTED:
            intercept += scale * (score - fsum(boosted.values()))
            for name, part in boosted.items():
                found[name] += scale * part
            continue
        bias, parts = _parts(ensemble.rules[k], examples[number], number, score)
        intercept += scale * bias
        for name, part in zip(names[number], parts, strict=True):
            found[name] += scale * part
    return found, intercept


def _parts(rule: LinearRule, example: Example, number: int, score: float) -> tuple[float, list[float]]:
    """Return the intercept, and the contribution of each entry of an example to a rule's score.

    Random features are one contribution, as are grams of characters, the nearest events, and the entries of a
    text beyond `MAX_ENTRIES`.
    """
    entries = example.entries()
    factor = _moderation(rule, dict(entries))
    bias = factor * _plain(rule, {})
    if number in {CHARACTERS, NEIGHBORS, FOURIER, WIDE}:
        return bias, [score - bias] if entries else []
    parts = [
        factor * _plain(rule, {slot: value}) - bias if slot >= 0 else 0.0
        for slot, value in entries[:MAX_ENTRIES]
    ]
    if len(entries) > MAX_ENTRIES:
        parts.append(score - bias - fsum(parts))
    return bias, parts


def _plain(rule: LinearRule, x: Mapping[int, float]) -> float:
    """Return w·x + b."""
    return rule.score_one(x) / _moderation(rule, x)


def _moderation(rule: LinearRule, x: Mapping[int, float]) -> float:
    """Return the factor by which a rule moderates its score at x; 1 if it does not."""
    known = {slot: value for slot, value in x.items() if slot >= 0}
    moderation_of = getattr(rule, "moderation_of", None)
    return 1.0 if moderation_of is None else float(moderation_of(known))


def words_and_pairs(text: str) -> list[str]:
    """Return the first words of a text, up to a limit, then the pairs of neighbouring words."""
    words = [*islice(tokens_of(folded(text[:_MAX_CHARACTERS], lowercase=True)), 2 * MAX_ENTRIES)]
    return [*words, *(f"{one} {other}" for one, other in pairwise(words))]


def names_of_columns(columns: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the names of the entries of the dense maps, in the order of the maps."""
    thrice = [name for name in columns for _ in range(3)]
    both = [*thrice, *(f"{one} × {other}" for one, other in pairs)]
    waves = [RANDOM_FEATURES] if columns else []
    return [[*columns], thrice, both, waves, waves]


def names_of_entries(named: Mapping[int, str], indices: Sequence[int]) -> list[str]:
    """Return the names of hashed features: those listed separately, and one for the merged rest."""
    rest = [REST_OF_TEXT] if len(indices) > MAX_ENTRIES else []
    return [*(named.get(index, REST_OF_TEXT) for index in indices[:MAX_ENTRIES]), *rest]


def numbers_in(x: Any) -> dict[str, float]:
    """Return the numbers of an event by name, for display."""
    if isinstance(x, str):
        return {}
    return {
        str(name): float(value)
        for name, value in x.items()
        if value is not None and not isinstance(value, str | bool)
    }
