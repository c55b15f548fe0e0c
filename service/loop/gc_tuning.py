"""Python's collector of reference cycles, set for a process that keeps many examples for long."""

from __future__ import annotations

import gc
from typing import Final

_YOUNG: Final = 10_000
"""New objects between two looks at the young ones; one batch makes more than Python's own 700 to 2,000."""


def look_less_often() -> None:
    """Have what is there now never looked at again, and what comes less often.

    Examples that wait for labels hold no cycles, yet each full collection goes through all of them. This
    changes the whole process: it is for those that serve, not for who uses our classes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
