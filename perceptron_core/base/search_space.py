"""What a learner declares of the parameters that are worth a search: `SEARCHED`, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


class Span(NamedTuple):
    """Numbers between two bounds, each order of magnitude as likely as the others."""

    low: float
    high: float


Space = Mapping[str, Span | Sequence[object]]
"""Numbers of a span, or one of several values."""

FORGETTING: Final = (1.0, 0.9999, 0.999, 0.995, 0.99)
INTERCEPT_FORGETTING: Final = (1.0, 0.99, 0.95, 0.9)
