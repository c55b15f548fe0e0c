"""How many examples Hypothesis tries of a law."""

from hypothesis import settings

USUAL = 12
"""Examples in `make test`."""
NIGHTLY = 300
"""Examples in `make nightly`."""


def n_examples(count: int) -> int:
    """Return how many examples to try of a law that is worth `count` when others are worth 60."""
    return max(1, count * settings.default.max_examples // 60)
