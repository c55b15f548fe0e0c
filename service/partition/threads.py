"""Turns of other threads while compiled code computes."""

from __future__ import annotations


def give_way() -> None:
    """Let a thread that waits for the GIL have it.

    The interpreter sees to that when a Python function begins, so this one is never compiled. Compiled code
    calls nothing of the kind by itself: for a whole batch, no other thread would commit or answer.
    """
