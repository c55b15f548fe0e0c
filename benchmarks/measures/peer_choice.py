"""The transaction size that suits a peer best, found in spite of starts that fail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from .base import ProcessFailed


def twice(run: Callable[[], float], what: str) -> float:
    """Return what a run measures; run once more if it fails, and tell that on stderr.

    Raises
    ------
    ProcessFailed
        It failed both times.

    """
    try:
        return run()
    except ProcessFailed as failure:
        _tell(f"{what} failed and is started once again: {failure}")
        return run()


def best_batch(run: Callable[[int], float], batches: Sequence[int], what: str) -> int:
    """Return the batch with which a peer is fastest; one with which it fails does not count.

    Parameters
    ----------
    run
        Measures messages per second with transactions of so many messages.
    batches
        To choose from.
    what
        What the peer is called on stderr.

    Raises
    ------
    ProcessFailed
        It failed with each of them.

    """
    rates: dict[int, float] = {}
    failure = ProcessFailed(f"{what} has no batches to choose from")
    for batch in batches:
        try:
            rates[batch] = twice(lambda batch=batch: run(batch), f"{what}, {batch:,} messages")  # type: ignore[misc]
        except ProcessFailed as found:
            _tell(f"{what} does not work with transactions of {batch:,} messages: {found}")
            failure = found
    if not rates:
        raise failure
    return max(rates, key=rates.__getitem__)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
