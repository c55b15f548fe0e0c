"""Turns of other threads while a batch is processed."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

leave_for_others: Final[ContextVar[Callable[[], None] | None]] = ContextVar("leave_for_others", default=None)
"""Leaves the lock that this thread holds for a batch to those who wait for it, and takes it back."""


def give_way() -> None:
    """Let a thread that waits for the GIL have it, and one that waits for the lock of this batch.

    The interpreter sees to the first when a Python function begins, so this one is never compiled. Compiled
    code calls nothing of the kind by itself: for a whole batch, no other thread would commit or answer.
    """
    if (leave := leave_for_others.get()) is not None:
        leave()
