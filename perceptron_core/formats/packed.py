"""Write MessagePack of which some parts are packed already.

Entries of a mapping stand one behind the other in MessagePack, so that each may be packed in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgpack


def pack(value: Any) -> bytes:
    """Write plain values as MessagePack; doubles stay doubles."""
    packed: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    return packed


def unpack(data: bytes) -> Any:
    """Read what `pack` wrote. Sequences come back as tuples, so that they can name features."""
    return msgpack.unpackb(data, use_list=False, strict_map_key=False, unicode_errors="surrogatepass")


def pack_row(values: Sequence[Any]) -> bytes:
    """Write a sequence, of which values may be `Packed`."""
    return b"".join(
        [msgpack.Packer().pack_array_header(len(values)), *chain.from_iterable(map(pieces_of, values))]
    )


class Packed:
    """A value as MessagePack.

    Parameters
    ----------
    pieces
        Its bytes, in as many pieces as they were written in.

    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces


class PackedMapping(Packed, Mapping[str, Any]):
    """A mapping as MessagePack, unpacked each time it is looked into.

    >>> pack_around({"a": 1, "b": Packed([pack([2, 3])])})["b"]
    (2, 3)
    """

    def _unpacked(self) -> Mapping[str, Any]:
        unpacked: Mapping[str, Any] = unpack(b"".join(self.pieces))
        return unpacked

    def __getitem__(self, name: str) -> Any:
        return self._unpacked()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._unpacked())

    def __len__(self) -> int:
        return len(self._unpacked())


def pack_around(fields: Mapping[str, Any]) -> PackedMapping:
    """Pack a mapping, of which values may be `Packed`: these stay as they are."""
    pieces: list[bytes] = [msgpack.Packer().pack_map_header(len(fields))]
    for name, value in fields.items():
        pieces.append(pack(name))
        pieces.extend(pieces_of(value))
    return PackedMapping(pieces)


def pieces_of(value: Any) -> Sequence[bytes]:
    """Return the pieces of a value, packed already or not."""
    return value.pieces if isinstance(value, Packed) else [pack(value)]
