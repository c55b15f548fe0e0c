"""The curves of a mixture's experts, as JSON for the live page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from perceptron_core.mixing.status import ExpertStatus
from service.models.auto import MixtureStatus
from service.monitoring.error_history import Point

POINTS_SHOWN: Final = 100
"""Of each expert's curves at most: a page draws dozens of them, half as wide as itself."""
_DIGITS: Final = 4


def experts_shown(mixture: MixtureStatus | None, points: Sequence[Point]) -> dict[str, Any] | None:
    """Return the experts, the heaviest first, with their curves; None where there is no mixture."""
    if mixture is None:
        return None
    drawn = thinned([point for point in points if point.mixture is not None])
    then = [{each.name: each for each in point.mixture.experts} for point in drawn if point.mixture]
    return {
        "leader": mixture.leader,
        "labelled": [point.labelled for point in drawn],
        "seconds": [point.seconds for point in drawn],
        "experts": [_shown(expert, [known.get(expert.name) for known in then]) for expert in mixture.experts],
    }


def thinned(points: Sequence[Point]) -> Sequence[Point]:
    """Return at most `POINTS_SHOWN` of the points, evenly spaced, the newest one last."""
    stride = -(-len(points) // POINTS_SHOWN)
    return points[::-1][:: stride or 1][::-1]


def _shown(expert: ExpertStatus, then: Sequence[ExpertStatus | None]) -> dict[str, Any]:
    """Return an expert and its curves, with gaps where it had not joined yet."""
    return {
        "name": expert.name,
        "weight": expert.weight,
        "mistakes": expert.mistakes,
        "recent_error": expert.recent_error,
        "weights": [_rounded(each and each.weight) for each in then],
        "errors": [_rounded(each and each.recent_error) for each in then],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
