"""Learn or score many examples in one call, one after the other.

The loops run over the arrays in place: no object is made per example. `batches.pxd` gives this module its C
types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.validation import MAX_MAGNITUDE, LabelError, example_weight, sign_of
from perceptron_core.weights.buffers import in_place
from perceptron_core.weights.example import Example
from perceptron_core.weights.tables import WeightTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Integers = NDArray[np.int32]
    Positions = NDArray[np.int64]
    Signs = NDArray[np.int8]

_AHEAD: Final = 96
"""How many entries ahead memory is prefetched."""


class Batch:
    """A batch of examples, with one of them at a time in `x`; subclasses implement `load_row`."""

    x: Example

    def load_row(self, row: int) -> None:
        """Set `x` to the example of a row."""
        raise NotImplementedError

    def score(self, rule: LinearRule, scores: Doubles) -> None:
        """Write the score of each example to `scores`."""
        scores = in_place(scores)
        for row in range(len(scores)):
            self.load_row(row)
            scores[row] = rule.score(self.x)

    def learn(self, rule: LinearRule, signs: Signs, weights: Doubles) -> None:
        """Learn each example, except those of weight 0."""
        signs, weights = in_place(signs), in_place(weights)
        for row in range(len(signs)):
            if weights[row] > 0:
                self.load_row(row)
                rule.learn(self.x, signs[row], weights[row])

    def run(self, rule: LinearRule, signs: Signs, weights: Doubles, scores: Doubles) -> None:
        """For each example in turn, write its score to `scores`, then learn it."""
        signs, weights, scores = in_place(signs), in_place(weights), in_place(scores)
        for row in range(len(signs)):
            self.load_row(row)
            scores[row] = rule.score(self.x)
            if weights[row] > 0:
                rule.learn_at(self.x, signs[row], weights[row], scores[row])


class SparseBatch(Batch):
    """Rows in CSR form, for a learner whose features are slot numbers."""

    def __init__(self, table: WeightTable, indptr: Positions, indices: Integers, values: Doubles) -> None:
        self.table = table
        self.indptr = in_place(indptr)
        self.n_entries = len(indices)
        self.x = table.slots_given()
        self.x.slots = in_place(indices)  # type: ignore[assignment]
        self.x.values = in_place(values)  # type: ignore[assignment]

    def load_row(self, row: int) -> None:
        """Set `x` to the example of a row."""
        start, end = self.indptr[row], self.indptr[row + 1]
        self.x.first_slot = self.x.first_value = start
        self.x.n = end - start
        self.table.prefetch(self.x, min(start + _AHEAD, self.n_entries), min(end + _AHEAD, self.n_entries))


class DenseBatch(Batch):
    """Rows of a matrix with a column for each feature."""

    def __init__(self, table: WeightTable, names: Sequence[Any], matrix: Doubles) -> None:
        self.table = table
        self.x = table.columns(names)
        self.x.values = in_place(matrix.reshape(-1))  # type: ignore[assignment]

    def load_row(self, row: int) -> None:
        """Set `x` to the example of a row."""
        self.table.refresh(self.x)
        self.x.first_value = row * self.x.n


def decide(rule: LinearRule, scores: Doubles, classes: NDArray[np.uint8]) -> None:
    """Write the class of each score to `classes`."""
    scores, classes = in_place(scores), in_place(classes)
    for row in range(len(scores)):
        classes[row] = rule.predicts_true(scores[row])


def signs_of(labels: Sequence[Any]) -> Signs:
    """Return y ∈ {−1, +1} of each label, up to the first invalid one."""
    import numpy as np  # noqa: PLC0415  takes long to import

    signs = np.empty(len(labels), np.int8)
    n = 0
    try:
        for label in labels:
            signs[n] = sign_of(label)
            n += 1
    except LabelError:
        pass
    return np.asarray(signs)[:n]


def weights_of(weights: Sequence[Any]) -> Doubles:
    """Return the weights of examples, up to the first invalid one."""
    import numpy as np  # noqa: PLC0415  takes long to import

    taken = np.empty(len(weights))
    n = 0
    try:
        for weight in weights:
            taken[n] = example_weight(weight)
            n += 1
    except (TypeError, ValueError):
        pass
    return np.asarray(taken)[:n]


def first_rejected(indptr: Positions, indices: Integers, values: Doubles, n_slots: int) -> int:
    """Return the first row with an index out of range, a repeated index, or a value that is too large.

    Returns the number of rows if there is none. A row in ascending order needs no search for duplicates. For
    other rows, a hash table (linear probing) has the position of each index; positions before the row are
    those of earlier rows, so the table need not be cleared.
    """
    import numpy as np  # noqa: PLC0415  takes long to import

    indptr, indices, values = in_place(indptr), in_place(indices), in_place(values)
    n_rows, largest = len(indptr) - 1, MAX_MAGNITUDE
    mask = 1023
    for row in range(n_rows):
        while mask < 2 * (indptr[row + 1] - indptr[row]):
            mask = 2 * mask + 1
    table = np.full(mask + 1, -1)
    for row in range(n_rows):
        start, end = indptr[row], indptr[row + 1]
        # Counts without an early exit, so that C compares several entries at once.
        n_sound = n_falls = 0
        for at in range(start, end):
            index, value = indices[at], values[at]
            n_sound += (index >= 0) & (index < n_slots) & (value >= -largest) & (value <= largest)
        for at in range(start + 1, end):
            n_falls += indices[at] <= indices[at - 1]
        if n_sound < end - start or (n_falls and _has_duplicate(indices, start, end, table, mask)):
            return row
    return n_rows


def _has_duplicate(indices: Integers, start: int, end: int, table: Positions, mask: int) -> bool:
    for at in range(start, end):
        slot = indices[at] & mask
        while table[slot] >= start:
            if indices[table[slot]] == indices[at]:
                return True
            slot = (slot + 1) & mask
        table[slot] = at
    return False
