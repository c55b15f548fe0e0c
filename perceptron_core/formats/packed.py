"""Write MessagePack of which some parts are packed already.

Entries of a mapping stand one behind the other in MessagePack, so that each may be packed in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgpack


def pack(value: Any) -> bytes:
    """Write plain values as MessagePack; doubles stay doubles. Raises TypeError for any others."""
    try:
        packed: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    except TypeError as error:
        raise TypeError(
            f"labels, names and parameters must be strings, numbers, booleans or tuples: {error}"
        ) from None
    return packed


def unpack(data: bytes) -> Any:
    """Read what `pack` wrote. Sequences come back as tuples, so that they can name features."""
    return msgpack.unpackb(data, use_list=False, strict_map_key=False, unicode_errors="surrogatepass")


class Packed:
    """A value as MessagePack.

    Parameters
    ----------
    pieces
        Its bytes, in as many pieces as they were written in; a piece may be `Packed`.

    """

    def __init__(self, pieces: Sequence[bytes | Packed]) -> None:
        self._pieces = pieces

    @property
    def pieces(self) -> list[bytes]:
        """Its bytes, in pieces."""
        return [*self.written()]

    @property
    def size_bytes(self) -> int:
        """About as many bytes as it is."""
        return sum(each.size_bytes if isinstance(each, Packed) else len(each) for each in self._pieces)

    def written(self) -> Iterator[bytes]:
        """Yield its bytes, in pieces."""
        for each in self._pieces:
            if isinstance(each, Packed):
                yield from each.written()
            else:
                yield each


class PackedLater(Packed):
    """A value that does not change any more, to be packed when its pieces are asked for.

    Parameters
    ----------
    size_bytes
        About as many bytes as it will be.
    write
        Returns its pieces.

    """

    def __init__(self, size_bytes: int, write: Callable[[], Iterable[bytes]]) -> None:
        self._size_bytes = size_bytes
        self._write = write

    @property
    def size_bytes(self) -> int:
        """About as many bytes as it will be."""
        return self._size_bytes

    def written(self) -> Iterator[bytes]:
        """Pack it."""
        yield from self._write()


class PackedMapping(Packed, Mapping[str, Any]):
    """A mapping as MessagePack, unpacked each time it is looked into.

    >>> pack_around({"a": 1, "b": Packed([pack([2, 3])])})["b"]
    (2, 3)
    """

    def _unpacked(self) -> Mapping[str, Any]:
        unpacked: Mapping[str, Any] = unpack(b"".join(self.written()))
        return unpacked

    def __getitem__(self, name: str) -> Any:
        return self._unpacked()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._unpacked())

    def __len__(self) -> int:
        return len(self._unpacked())


def pack_around(fields: Mapping[str, Any]) -> PackedMapping:
    """Pack a mapping, of which values may be `Packed`: these stay as they are."""
    pieces: list[bytes | Packed] = [msgpack.Packer().pack_map_header(len(fields))]
    for name, value in fields.items():
        pieces += [pack(name), packed_of(value)]
    return PackedMapping(pieces)


def pack_row(values: Sequence[Any]) -> Packed:
    """Pack a sequence, of which values may be `Packed`: these stay as they are."""
    return Packed([msgpack.Packer().pack_array_header(len(values)), *map(packed_of, values)])


def packed_of(value: Any) -> bytes | Packed:
    """Return a value packed, which it may be already."""
    return value if isinstance(value, Packed) else pack(value)


def pack_bytes(content: Packed) -> PackedLater:
    """Pack bytes, which are yet to be written."""
    return PackedLater(content.size_bytes, lambda: _as_bytes(content.pieces))


def _as_bytes(pieces: Sequence[bytes]) -> Sequence[bytes]:
    size = sum(map(len, pieces))
    kind = next((kind for kind in (0, 1, 2) if size < 1 << (8 << kind)), 2)
    return [bytes([0xC4 + kind]) + size.to_bytes(1 << kind, "big"), *pieces]
