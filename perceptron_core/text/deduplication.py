"""Find the distinct feature indices of a text, and count each.

Where there is a compiler, `deduplication.pxd` gives C types.
"""

from __future__ import annotations

from array import array

_MOST_BITS_MARKED = 20  # 128 KB of marks: in the cache of a core
_FIRST_SLOTS = 1 << 10  # 8 KB: in the nearest cache, and so empty for a short text that few n-grams meet


class Repeats:
    """Finds the features that occur again.

    Parameters
    ----------
    bits
        Indices are below 2**bits.
    counts
        Whether they are counted.

    """

    def __init__(self, bits: int, counts: bool) -> None:
        self._counts = counts
        self._n_indices = 1 << bits
        self._marks = bytearray(0 if counts or bits > _MOST_BITS_MARKED else self._n_indices // 8 + 1)
        self._table = array("q")
        self._stamp = 1

    def merge(self, indices: array[int], values: array[float], start: int, end: int) -> int:
        """Keep the first of equal indices from `start` to `end`, in their order; return where those kept end.

        How often each occurs goes to `values`, if they are counted.
        """
        if len(self._marks):
            return _drop_marked(indices, self._marks, start, end)
        return self._merge_by_table(indices, values, start, end)

    def _merge_by_table(self, indices: array[int], values: array[float], start: int, end: int) -> int:
        """Merge with a hash table (open addressing, linear probing) of the positions of the indices kept.

        A stamp that has grown by as much is added: an entry of an earlier text is smaller than any of this
        one, so the table is never cleared.
        """
        mask = self._slot_mask(min(end - start, self._n_indices))
        table, first, counts = self._table, self._stamp, self._counts
        self._stamp += end - start  # now: whatever ends the loop, its entries are an earlier text's
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
        """Return the mask of a table that stays half empty at least; make it, if it is not as large."""
        mask = _FIRST_SLOTS - 1
        while mask < 2 * most:
            mask = 2 * mask + 1
        if len(self._table) <= mask:
            self._table = array("q", [0]) * (mask + 1)
        return mask


def _drop_marked(indices: array[int], marks: bytearray, start: int, end: int) -> int:
    """Keep the first of equal indices; each has a bit in `marks`, all 0 before and after.

    There is no branch, as no processor can guess what occurs again. A function, since a memory view that is
    given as an argument is not counted as one more reference, which takes as long as ten indices.
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
