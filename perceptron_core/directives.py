"""Stand-ins for the directives of Cython, where it is not installed."""

from __future__ import annotations


def cclass(decorated: type) -> type:
    """Return a class as it is."""
    return decorated


no_gc = cclass
