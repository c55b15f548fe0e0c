"""What was said of an event, in bytes: a label that comes late is judged by it.

`said.pxd` gives this module its C types.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import Final

from perceptron_core.auto.ensemble import MOST_EXPERTS, Ensemble
from perceptron_core.mixing.label_history import N_RATES
from perceptron_core.mixing.lead import Lead
from perceptron_core.weights.buffers import doubles, from_bytes, to_bytes

HEADER: Final = 4
"""Numbers in front of what was said: of ensembles, of learners and candidates in each, and of the leader.

After it: the weights of the candidates in the answer; what the mixers of each ensemble were told of the last
labels, where any are; and the labels learned before."""
_BYTES_A_NUMBER: Final = 8


def said_of(ensembles: list[Ensemble], lead: Lead, n_labels: int, most_bytes: int) -> bytes:
    """Write down what was said of the event scored last, after so many labels.

    Beyond `most_bytes`, it is what is said where there are no learners.
    """
    if lead.n == 0:
        return b""
    n = ensembles[0].n if ensembles else 0
    n_said = len(ensembles) if n else 0
    width = n + lead.n
    n_told = ensembles[0].n_told() if n_said else 0
    if _BYTES_A_NUMBER * (HEADER + n_said * (width + n_told) + lead.n + 1) > most_bytes:
        n_said = 0
    end = HEADER + n_said * width
    n_weights = lead.n if n_said else 0
    numbers = doubles(end + n_weights + n_said * n_told + 1)
    numbers[0], numbers[1], numbers[2], numbers[3] = n_said, n, lead.n, lead.leader
    for k in range(n_weights):
        numbers[end + k] = lead.weights[k]
    for k in range(n_said):
        ensemble = ensembles[k]
        ensemble.say(numbers, HEADER + k * width, lead.n)
        if n_told:
            ensemble.say_history(numbers, end + n_weights + k * n_told)
    numbers[len(numbers) - 1] = n_labels
    return to_bytes("d", numbers)


def numbers_said(said: bytes) -> memoryview[float]:
    """Return the numbers that `said_of` wrote. Raises ValueError for anything else."""
    if not isinstance(said, bytes) or len(said) % _BYTES_A_NUMBER:
        raise ValueError(f"said must be the bytes that `said` returned, not {said!r:.50}")
    found = from_bytes("d", said)
    if len(found) >= HEADER and isfinite(sum(found)):
        n_said, n, n_candidates, leader = found[:HEADER].tolist()
        n_more = len(found) - HEADER - n_said * (n + n_candidates)
        known = {n_candidates + 1, n_candidates + n_said * N_RATES + 1} if n_said else {1}
        is_known = n_more in known and found[len(found) - 1] >= 0
        if 0 <= leader < n_candidates <= MOST_EXPERTS >= n >= 0 and is_known:
            return found
    if len(found):
        raise ValueError(f"{len(found)} numbers are not what `said` returned")
    return found


def recall(ensembles: list[Ensemble], lead: Lead, said: memoryview[float]) -> None:
    """Take what `said_of` wrote for what is said now, and what candidates weighed then.

    Nothing is taken where there is nothing, or learners are others since a third class came.
    """
    if len(said) == 0 or said[0] != len(ensembles):
        return
    n, n_candidates = int(said[1]), int(said[2])
    end = HEADER + len(ensembles) * (n + n_candidates)
    is_told = has_history(said)
    for k in range(len(ensembles)):
        ensemble = ensembles[k]
        ensemble.recall(said, HEADER + k * (n + n_candidates), n, n_candidates)
        if is_told:
            ensemble.recall_history(said, end + n_candidates + k * N_RATES)
    for k in range(lead.n):
        lead.weights[k] = said[end + k] if k < n_candidates else 0.0


def lateness(said: memoryview[float], n_labels: int) -> float:
    """Return how many labels came since what `said_of` wrote; after so many, it is learned now.

    It is infinite where what was known of the last labels then was not written.
    """
    if len(said) == 0 or said[len(said) - 1] == n_labels:
        return 0.0
    is_whole = said[1] == 0 or has_history(said)  # or there was nothing to write
    return n_labels - said[len(said) - 1] if is_whole else inf


def has_history(said: memoryview[float]) -> bool:
    """Return whether what was known of the last labels was written."""
    n_said, n, n_candidates = int(said[0]), int(said[1]), int(said[2])
    return len(said) > HEADER + n_said * (n + n_candidates) + n_candidates + 1
