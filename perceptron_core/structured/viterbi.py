"""Viterbi decoding: the best path through scores of states and transitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def best_path(emissions: Matrix, transitions: Matrix, start: Matrix) -> list[int]:
    """Find the sequence of states with the highest total score.

    Viterbi (1967): the best path to a state at position t is the best path to some state at t − 1 and
    the transition from there. A tie is decided for the state with the lower number, from the end backwards.

    Parameters
    ----------
    emissions
        Score of each state (column) at each position (row); one position or more.
    transitions
        Score of going from a state (row) to a state (column).
    start
        Score of beginning in a state.

    Examples
    --------
    Staying in a state is worth 2, more than the second position's emission for changing it:

    >>> best_path(np.array([[3.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 2.0 * np.eye(2), np.zeros(2))
    [0, 0, 0]

    """
    incoming = np.ascontiguousarray(transitions.T)
    score = start + emissions[0]
    backward = np.empty(emissions.shape, dtype=np.intp)
    states = np.arange(len(start))
    for position in range(1, len(emissions)):
        candidates = incoming + score
        best = candidates.argmax(axis=1)
        backward[position] = best
        score = candidates[states, best] + emissions[position]
    path = [int(score.argmax())]
    for position in range(len(emissions) - 1, 0, -1):
        path.append(int(backward[position, path[-1]]))
    return path[::-1]
