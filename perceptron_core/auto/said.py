"""What was said of an event, in bytes: a label that comes late is judged by it.

`said.pxd` gives this module its C types.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

from perceptron_core.auto.ensemble import MOST_EXPERTS, Ensemble
from perceptron_core.mixing.lead import Lead
from perceptron_core.weights.buffers import doubles, from_bytes, to_bytes

HEADER: Final = 4
"""Numbers in front of what was said: of ensembles, of learners and candidates in each, and of the leader."""
_BYTES_A_NUMBER: Final = 8
MORE: Final = 2
"""Numbers behind it: the share of the first mixer in the mean of two, and the labels learned before."""


def said_of(ensembles: list[Ensemble], lead: Lead, n_labels: int, most_bytes: int) -> bytes:
    """Write down what was said of the event scored last, after so many labels.

    Beyond `most_bytes`, it is what is said where there are no learners.
    """
    if lead.n == 0:
        return b""
    n = ensembles[0].n if ensembles else 0
    n_said = len(ensembles) if n else 0
    width = n + lead.n
    if 8 * (HEADER + n_said * width + MORE) > most_bytes:
        n_said = 0
    end = HEADER + n_said * width
    numbers = doubles(end + MORE)
    numbers[0], numbers[1], numbers[2], numbers[3] = n_said, n, lead.n, lead.leader
    numbers[end], numbers[end + 1] = lead.share, n_labels
    for k in range(n_said):
        ensemble = ensembles[k]
        ensemble.say(numbers, HEADER + k * width, lead.n)
    return to_bytes("d", numbers)


def numbers_said(said: bytes) -> memoryview[float]:
    """Return the numbers that `said_of` wrote. Raises ValueError for anything else."""
    if not isinstance(said, bytes) or len(said) % _BYTES_A_NUMBER:
        raise ValueError(f"said must be the bytes that `said` returned, not {said!r:.50}")
    found = from_bytes("d", said)
    if len(found) >= HEADER and all(map(isfinite, found)):
        n_said, n, n_candidates, leader = found[:HEADER].tolist()
        n_more = len(found) - HEADER - n_said * (n + n_candidates)  # none, of earlier releases
        n_labels = found[-1] if n_more else 0.0
        if 0 <= leader < n_candidates <= MOST_EXPERTS >= n >= 0 and n_more in {0, MORE} and n_labels >= 0:
            return found
    if len(found):
        raise ValueError(f"{len(found)} numbers are not what `said` returned")
    return found


def recall(ensembles: list[Ensemble], lead: Lead, said: memoryview[float]) -> int:
    """Take what `said_of` wrote for what is said now, and the share of then; return the leader of then.

    Nothing is taken where there is nothing, or learners are others since a third class came.
    """
    if len(said) == 0 or said[0] != len(ensembles):
        return lead.leader
    n, n_candidates = int(said[1]), int(said[2])
    end = HEADER + len(ensembles) * (n + n_candidates)
    for k in range(len(ensembles)):
        ensemble = ensembles[k]
        ensemble.recall(said, HEADER + k * (n + n_candidates), n, n_candidates)
    if len(said) > end:
        lead.share = said[end]
    return int(said[3])


def is_late(said: memoryview[float], n_labels: int) -> bool:
    """Return whether another label came since what `said_of` wrote; after so many, it is learned now."""
    return len(said) > 0 and said[len(said) - 1] != n_labels
