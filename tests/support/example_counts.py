"""How many examples Hypothesis tries of a law that has a count of its own."""

from hypothesis import settings

USUAL = 60
"""Examples of a law without one, in `make test`."""


def n_examples(count: int) -> int:
    """Return `count` in `make test`; in the quick and the nightly form, its share of their examples."""
    return max(1, count * settings.default.max_examples // USUAL)
