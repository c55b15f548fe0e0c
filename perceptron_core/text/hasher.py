"""Hash the n-grams of texts; repeated n-grams become one feature.

`hasher.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from math import sqrt
from typing import Any, NamedTuple

from perceptron_core.text.murmur3 import Murmur
from perceptron_core.text.tokenizer import SPARE_BYTES, Analyzer, Bytes, Tokenizer

_MAX_BITS_MARKED = 20  # 128 KB of marks: in the cache of a core
_FIRST_SLOTS = 1 << 10  # 8 KB: in the nearest cache; for a short text so empty that few n-grams collide


class Repeats:
    """Finds repeated features.

    Parameters
    ----------
    bits
        Indices are below 2**bits.
    counts
        Whether repetitions are counted.

    """

    def __init__(self, bits: int, counts: bool) -> None:
        self._counts = counts
        self._n_indices = 1 << bits
        self._marks = bytearray(0 if counts or bits > _MAX_BITS_MARKED else self._n_indices // 8 + 1)
        self._table = array("q")
        self._stamp = 1

    def merge(self, indices: array[int], values: array[float], start: int, end: int) -> int:
        """Keep the first of equal indices from `start` to `end`, in order; return the end of the kept ones.

        If repetitions are counted, `values` gets the count of each index.
        """
        if len(self._marks):
            return _drop_marked(indices, self._marks, start, end)
        return self._merge_by_table(indices, values, start, end)

    def _merge_by_table(self, indices: array[int], values: array[float], start: int, end: int) -> int:
        """Merge with a hash table (open addressing, linear probing) of the positions of the kept indices.

        A growing stamp is added to positions: all entries of earlier texts are smaller than those of this
        text, so the table is never cleared.
        """
        mask = self._slot_mask(min(end - start, self._n_indices))
        table, first, counts = self._table, self._stamp, self._counts
        self._stamp += end - start  # before the loop, so that its entries are old even after an error
        offset = start - first
        filled = start
        for at in range(start, end):
            index = indices[at]
            slot = index & mask
            entry = table[slot]
            while entry >= first and indices[offset + entry] != index:
                slot = (slot + 1) & mask
                entry = table[slot]
            if entry < first:
                table[slot] = filled - offset
                indices[filled] = index
                if counts:
                    values[filled] = 1.0
                filled += 1
            elif counts:
                values[offset + entry] += 1.0
        return filled

    def _slot_mask(self, most: int) -> int:
        """Return the mask of a table that stays at least half empty; enlarge the table if needed."""
        mask = _FIRST_SLOTS - 1
        while mask < 2 * most:
            mask = 2 * mask + 1
        if len(self._table) <= mask:
            self._table = array("q", [0]) * (mask + 1)
        return mask


def _drop_marked(indices: array[int], marks: bytearray, start: int, end: int) -> int:
    """Keep the first of equal indices; each has a bit in `marks`, all 0 before and after.

    It has no branches, since repetitions cannot be predicted. It is a function, since a memory view as an
    argument is not counted as another reference, which takes as long as ten indices.
    """
    filled = start
    try:
        for at in range(start, end):
            index = indices[at]
            marked, mark = marks[index >> 3], 1 << (index & 7)
            indices[filled] = index
            filled += not marked & mark
            marks[index >> 3] = marked | mark
    finally:  # Ctrl-C, where this is interpreted
        for at in range(start, filled):
            marks[indices[at] >> 3] = 0
    return filled


MAX_BITS = 30
"""An index fits a signed integer of 32 bits."""

_LONGEST_RUN = 4
"""Longest n-grams of characters that are hashed several at once."""

_FIRST_CAPACITY = 1 << 10
_MAX_CAPACITY_KEPT = 1 << 20  # a huge text or batch must not keep its memory forever


class Rows(NamedTuple):
    """Sparse rows (CSR): row r has the entries `indptr[r]` up to `indptr[r + 1]`."""

    indptr: array[int]
    """64-bit integers, one more than the rows."""
    indices: array[int] | memoryview
    """32-bit integers, in each row distinct and in the order of first occurrence."""
    values: array[float] | memoryview
    """Doubles, one for each index."""


class TextHasher:
    r"""Hashes the n-grams of texts: MurmurHash3 of `prefix` + n-gram as UTF-8, its lowest `bits` bits.

    Repeated n-grams, and n-grams whose hashes collide, are one feature. Only one thread may use it at a time.

    Parameters
    ----------
    bits
        Indices are below 2**bits; 1 to 30.
    analyzer
        Whether n-grams consist of words (``\w+``), joined by a space, of characters (code points), or of
        tokens of any script ("scripts"), joined by a space: words, symbols such as emoji and, for scripts
        without spaces, pairs of neighbouring characters.
    ngrams
        Shortest and longest n-gram.
    lowercase
        Whether text is converted to lower case first, by `str.lower`; for "scripts", case is folded after
        the normal form NFKC.
    counts
        Whether a value is the count of the feature, instead of 1.
    l2
        Whether the values of a text are scaled to length 1.
    prefix
        Text that is put before each n-gram when it is hashed.

    Notes
    -----
    The sum of the squares of counts is an integer, so the order of addition does not change the scaled
    values.

    Examples
    --------
    >>> hasher = TextHasher(18)
    >>> hasher.transform_one("Win a prize, WIN!")
    {216735: 1.0, 9365: 1.0, 11184: 1.0}
    >>> hasher.transform_many(["a prize", "", "win"]).indptr
    array('q', [0, 2, 2, 3])

    """

    bits: int
    indices: array[int]
    values: array[float]
    filled: int
    """Number of entries of `indices` and `values` appended since `clear`; the others are unused."""

    def __init__(
        self,
        bits: int,
        *,
        analyzer: Analyzer = "words",
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        counts: bool = False,
        l2: bool = False,
        prefix: str = "text=",
    ) -> None:
        shortest, longest = ngrams
        if not 1 <= bits <= MAX_BITS:
            raise ValueError(f"bits: expected a whole number from 1 to {MAX_BITS}, got {bits}")
        if not 1 <= shortest <= longest:
            raise ValueError(f"ngrams: expected (shortest, longest), at least 1, got {ngrams}")
        if analyzer not in {"words", "chars", "scripts"}:
            raise ValueError(f"analyzer: expected 'words', 'chars' or 'scripts', got {analyzer!r}")
        self.bits = bits
        self._index_mask = (1 << bits) - 1
        self._shortest = shortest
        self._longest = longest
        self._counts = counts
        self._l2 = l2
        self._tokens = Tokenizer(analyzer, shortest, lowercase)
        self._murmur = Murmur(prefix.encode())
        self._allocate()

    def transform_one(self, text: str | bytes) -> dict[int, float]:
        """Return the features of a text: values by index, in the order of first occurrence.

        Raises `UnicodeError` for bytes that are not UTF-8 and for an n-gram with a lone surrogate.
        """
        self.clear()
        self.append(text)
        return {self.indices[at]: self.values[at] for at in range(self.filled)}

    def transform_many(self, texts: Iterable[str | bytes], copy: bool = True) -> Rows:
        """Return the features of each text as a row.

        Without `copy`, indices and values are the hasher's own memory, valid until its next use, for learners
        that read them at once. Raises as `transform_one`.
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError("expected several texts, got one")
        texts = [*texts]
        ends = indptr = _zeros("q", len(texts) + 1)
        self.clear()
        for row in range(len(texts)):
            self.append(texts[row])
            ends[row + 1] = self.filled
        if not copy:
            return Rows(
                indptr, memoryview(self.indices)[: self.filled], memoryview(self.values)[: self.filled]
            )
        return Rows(
            indptr,
            _resized("i", self.indices, self.filled, self.filled),
            _resized("d", self.values, self.filled, self.filled),
        )

    def clear(self) -> None:
        """Discard the rows appended so far."""
        self.filled = 0
        if len(self.indices) > _MAX_CAPACITY_KEPT:
            self._allocate()

    def append(self, text: str | bytes) -> None:
        """Add the features of a text to `indices` and `values`, which a compiled learner reads in place.

        Raises as `transform_one`, and then adds nothing.
        """
        if not isinstance(text, str):
            text = text.decode()
        data = self._tokens.cut(text)
        row = self.filled
        self._reserve()
        self.filled = self._repeats.merge(self.indices, self.values, row, self._hash_ngrams(data))
        if not self._counts:
            value = 1.0 / sqrt(self.filled - row) if self._l2 and self.filled > row else 1.0
            _fill(self.values, row, self.filled, value)
        elif self._l2:
            self._scale_to_unit_length(row)

    def _allocate(self) -> None:
        repeats = Repeats(self.bits, self._counts)
        indices, values = _zeros("i", _FIRST_CAPACITY), _zeros("d", _FIRST_CAPACITY)
        self.filled, self.indices, self.values, self._repeats = 0, indices, values, repeats

    def _reserve(self) -> None:
        """Reserve memory for the n-grams of the text."""
        most = 0
        for n in range(self._shortest, self._longest + 1):
            most += max(self._tokens.count - n + 1, 0)
        room = most + self._tokens.starts[self._tokens.count] + SPARE_BYTES  # as `_hash_runs` needs it
        if len(self.indices) < self.filled + room:
            capacity = 2 * (self.filled + room)
            indices = _resized("i", self.indices, self.filled, capacity)
            values = _resized("d", self.values, self.filled, capacity)
            self.indices, self.values = indices, values

    def _hash_ngrams(self, data: Bytes) -> int:
        """Append the index of each n-gram to the indices of earlier texts; return the end."""
        at = self.filled
        for n in range(self._shortest, self._longest + 1):
            if n <= _LONGEST_RUN and self._tokens.gap == 0:  # characters
                self._hash_runs(data, n, at)
            else:
                self._hash_one_by_one(data, n, at)
            at += max(self._tokens.count - n + 1, 0)
        return at

    def _hash_one_by_one(self, data: Bytes, n: int, at: int) -> None:
        """Write the indices of n-grams of n tokens from `at` on."""
        indices, starts, gap, murmur = self.indices, self._tokens.starts, self._tokens.gap, self._murmur
        index_mask = self._index_mask
        for token in range(self._tokens.count - n + 1):
            indices[at + token] = murmur.hash(data, starts[token], starts[token + n] - gap) & index_mask

    def _hash_runs(self, data: Bytes, n: int, at: int) -> None:
        """Write the indices of n-grams: several at once as if of single bytes; then correct the others."""
        size = self._tokens.starts[self._tokens.count]
        self._murmur.hash_runs(data, n, size - n + 1, self._index_mask, self.indices, at)
        if size > self._tokens.count:
            self._correct_indices(data, n, at)

    def _correct_indices(self, data: Bytes, n: int, at: int) -> None:
        indices, starts, murmur = self.indices, self._tokens.starts, self._murmur
        for token in range(self._tokens.count - n + 1):
            start, end = starts[token], starts[token + n]
            if end - start == n:
                indices[at + token] = indices[at + start]
            else:
                indices[at + token] = murmur.hash(data, start, end) & self._index_mask

    def _scale_to_unit_length(self, row: int) -> None:
        values = self.values
        squares = 0.0
        for at in range(row, self.filled):
            squares += values[at] * values[at]
        norm = sqrt(squares)
        for at in range(row, self.filled):
            values[at] /= norm


def _fill(values: array[float], start: int, end: int, value: float) -> None:
    for at in range(start, end):
        values[at] = value


def _zeros(typecode: str, count: int) -> array[Any]:
    return array(typecode, [0]) * count


def _resized(typecode: str, old: array[Any], kept: int, count: int) -> array[Any]:
    """Copy the first `kept` entries to an array of `count`."""
    new = _zeros(typecode, count)
    memoryview(new)[:kept] = memoryview(old)[:kept]
    return new
