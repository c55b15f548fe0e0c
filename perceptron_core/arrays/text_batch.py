"""A batch of texts as examples, hashed a few texts ahead.

No other code can change the rows, so they are not checked. `text_batches.pxd` gives C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from perceptron_core.linear.batches import Batch
from perceptron_core.text.hasher import TextHasher
from perceptron_core.weights.tables import WeightTable

_AHEAD: Final = 6
"""Texts that are hashed together, so that their cells are prefetched while others are learned."""


class TextBatch(Batch):
    """Texts that are hashed when they are needed."""

    def __init__(self, table: WeightTable, hasher: TextHasher, texts: Iterable[str | bytes]) -> None:
        if isinstance(texts, (str, bytes)):
            raise TypeError("expected several texts, got one")
        if 1 << hasher.bits > table.n_slots:
            raise ValueError(f"the hasher's {hasher.bits} bits are more than the model has")
        self.table = table
        self.hasher = hasher
        self.texts = [text if type(text) is str or type(text) is bytes else _plain(text) for text in texts]
        self.x = table.slots_given()
        self._first = self._end = 0
        self._ends = array("q", [0]) * (_AHEAD + 1)

    def load_row(self, row: int) -> None:
        """Set `x` to an example. Raises `UnicodeError` for a text that cannot be hashed."""
        if not self._first <= row < self._end:
            self._hash_from(row)
        start, end = self._ends[row - self._first], self._ends[row - self._first + 1]
        self.x.first_slot = self.x.first_value = start
        self.x.n = end - start

    def _hash_from(self, row: int) -> None:
        """Hash a few texts, up to the first that cannot be hashed."""
        self._first = self._end = row
        self.hasher.clear()
        for k in range(min(_AHEAD, len(self.texts) - row)):
            try:
                self.hasher.append(self.texts[row + k])
            except UnicodeError:
                if not k:
                    raise
                break
            self._ends[k + 1] = self.hasher.filled
            self._end += 1
        self.x.slots = self.hasher.indices
        self.x.values = self.hasher.values
        self.table.prefetch(self.x, 0, self.hasher.filled)


def _plain(text: str | bytes) -> str | bytes:
    """Return a plain text: the methods of a subclass could interfere with the hasher."""
    if isinstance(text, str):
        return str.__str__(text)
    if isinstance(text, bytes):
        return bytes(text)
    raise TypeError(f"expected text as str or bytes, got {type(text).__name__}")
