"""MurmurHash3 (x86, 32 bits, seed 0), by Austin Appleby (2008), of strings with a common prefix.

This is the interpreted form; `murmur3.pyx` is the compiled form, with the same results.
"""

from __future__ import annotations

from array import array
from typing import Final

from perceptron_core.text.tokenizer import Bytes

_LOW: Final = 0xFFFFFFFF


class Murmur:
    """Hashes data after a prefix.

    The complete blocks of the prefix are hashed once; up to three bytes are carried over to the data.
    """

    def __init__(self, prefix: bytes) -> None:
        whole = len(prefix) // 4 * 4
        self._prefix_bytes = len(prefix)
        self._state = 0
        for at in range(0, whole, 4):
            self._state = _with_block(self._state, _block_at(prefix, at))
        self._carried = int.from_bytes(prefix[whole:], "little")
        self._carried_bits = 8 * (len(prefix) - whole)

    def hash(self, data: Bytes, start: int, end: int) -> int:
        """Return the hash of the prefix and `data[start:end]`."""
        state, carried, bits = self._state, self._carried, self._carried_bits
        at = start
        while at + 4 <= end:
            carried |= _block_at(data, at) << bits
            state = _with_block(state, carried)
            carried >>= 32
            at += 4
        while at < end:
            carried |= data[at] << bits
            bits += 8
            at += 1
        if bits >= 32:  # noqa: PLR2004  a block
            state = _with_block(state, carried)
            carried >>= 32
        return _finished(state ^ _scrambled(carried), self._prefix_bytes + end - start)

    def hash_text(self, text: str) -> int:
        """Return the hash of the prefix and a text as UTF-8, also with lone surrogates."""
        data = text.encode("utf-8", "surrogatepass")
        return self.hash(data, 0, len(data))

    def hash_runs(self, data: Bytes, n: int, count: int, mask: int, hashes: array[int], at: int) -> None:
        """Write the hashes of the prefix and each of the `count` runs of n bytes of `data`.

        n is 1 to 4. The hashes are masked by `mask` and written from `hashes[at]` on. After them, and after
        the data, there must be `SPARE_BYTES` of memory, since hashes are computed in vectors.
        """
        for start in range(count):
            hashes[at + start] = self.hash(data, start, start + n) & mask


def _block_at(data: Bytes, at: int) -> int:
    """Read four bytes, the least significant first."""
    return int.from_bytes(data[at : at + 4], "little")


def _scrambled(block: int) -> int:
    """Mix a block by itself."""
    block = block * 0xCC9E2D51 & _LOW
    block = (block << 15 | block >> 17) & _LOW
    return block * 0x1B873593 & _LOW


def _with_block(state: int, block: int) -> int:
    """Return the state after one more block; only its lowest 32 bits count."""
    state ^= _scrambled(block & _LOW)
    state = (state << 13 | state >> 19) & _LOW
    return (state * 5 + 0xE6546B64) & _LOW


def _finished(state: int, length: int) -> int:
    """Return the hash for a final state and the length in bytes."""
    state ^= length
    state = (state ^ state >> 16) * 0x85EBCA6B & _LOW
    state = (state ^ state >> 13) * 0xC2B2AE35 & _LOW
    return state ^ state >> 16
