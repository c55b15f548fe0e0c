"""Features that are not a dictionary, but stand for one. In: nothing. Out: what their kinds have in common.

This is the interpreted form, in which they are dictionaries; `feature_array.pyx` is the compiled one.
"""

from __future__ import annotations

from typing import Any


class FeatureArray(dict[Any, Any]):
    """Features with a number each, in their order; nothing changes them once they are made."""

    def as_dict(self) -> dict[Any, Any]:
        """Return a new dictionary of the same features and numbers in the same order."""
        return dict(self)
