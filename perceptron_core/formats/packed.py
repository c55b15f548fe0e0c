"""Write plain values as MessagePack, whole or in chunks, sealed with a kind, a version and a checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgpack

from perceptron_core.validation import DamagedError, NewerError

_DIGEST_BYTES: Final = 16
_VERSION_BYTES: Final = 2


def seal(kind: bytes, version: int, body: bytes) -> bytes:
    """Prefix `body` with a kind, a version and a BLAKE2b checksum of all of it."""
    return b"".join(seal_chunks(kind, version, [body]))


def seal_chunks(kind: bytes, version: int, chunks: Iterable[bytes]) -> Sequence[bytes]:
    """Return the result of `seal` in chunks, from the chunks of the body."""
    head, body = kind + version.to_bytes(_VERSION_BYTES, "big"), [*chunks]
    return [head + _digest(head, *body), *body]


def unseal(kind: bytes, versions: range, data: bytes) -> tuple[int, bytes]:
    """Check the seal; return the version and the body.

    Raises
    ------
    DamagedError
        The data is of another kind, of a version not in `versions`, truncated, or changed since it was
        sealed.
    NewerError
        The data is not damaged, but of a version after `versions`.

    """
    name = kind.decode()
    if not data.startswith(kind):
        raise DamagedError(f"not a {name}")
    start = len(kind) + _VERSION_BYTES
    head, digest, body = data[:start], data[start : start + _DIGEST_BYTES], data[start + _DIGEST_BYTES :]
    if len(digest) < _DIGEST_BYTES:
        raise DamagedError(f"this {name} is truncated after {len(data)} bytes")
    version = int.from_bytes(head[len(kind) :], "big")
    if version not in versions:
        known = f"this release reads {versions.start} to {versions.stop - 1}"
        if version >= versions.stop and digest == _digest(head, body):
            raise NewerError(f"this {name} has version {version}; {known}: a newer release wrote it")
        raise DamagedError(f"this {name} has version {version}; {known}")
    if digest != _digest(head, body):
        raise DamagedError(f"this {name} is damaged: wrong checksum of {len(body)} bytes")
    return version, body


def checksum(kind: bytes, data: bytes) -> bytes:
    """Return the checksum of sealed bytes, given completely or as the first chunk."""
    start = len(kind) + _VERSION_BYTES
    return data[start : start + _DIGEST_BYTES]


def _digest(head: bytes, *body: bytes) -> bytes:
    digest = hashlib.blake2b(head, digest_size=_DIGEST_BYTES)
    for chunk in body:
        digest.update(chunk)
    return digest.digest()


def pack(value: Any) -> bytes:
    """Write plain values, or a `Packed` one, as MessagePack; doubles stay doubles.

    Raises `TypeError` for other values.
    """
    if isinstance(value, Packed):
        return b"".join(value.iter_chunks())
    try:
        packed: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    except TypeError as error:
        raise TypeError(
            f"labels, names and parameters: expected strings, numbers, booleans or tuples: {error}"
        ) from None
    return packed


def unpack(data: bytes) -> Any:
    """Read the result of `pack`. Sequences become tuples, so that they can name features."""
    return msgpack.unpackb(data, use_list=False, strict_map_key=False, unicode_errors="surrogatepass")


class Packed:
    """A value as MessagePack.

    Parameters
    ----------
    chunks
        The bytes in chunks; a chunk may be `Packed`.

    """

    def __init__(self, chunks: Sequence[bytes | Packed]) -> None:
        self._chunks = chunks

    @property
    def chunks(self) -> list[bytes]:
        """The bytes, in chunks."""
        return [*self.iter_chunks()]

    @property
    def size_bytes(self) -> int:
        """Approximate size in bytes."""
        return sum(chunk.size_bytes if isinstance(chunk, Packed) else len(chunk) for chunk in self._chunks)

    def iter_chunks(self) -> Iterator[bytes]:
        """Yield the bytes, in chunks."""
        for chunk in self._chunks:
            if isinstance(chunk, Packed):
                yield from chunk.iter_chunks()
            else:
                yield chunk


class PackedLater(Packed):
    """A value that does not change any more and is packed when its chunks are read.

    Parameters
    ----------
    size_bytes
        Approximate size in bytes.
    write
        Returns the chunks.

    """

    def __init__(self, size_bytes: int, write: Callable[[], Iterable[bytes]]) -> None:
        self._size_bytes = size_bytes
        self._write = write

    @property
    def size_bytes(self) -> int:
        """Approximate size in bytes."""
        return self._size_bytes

    def iter_chunks(self) -> Iterator[bytes]:
        """Pack the value."""
        yield from self._write()


class PackedMapping(Packed, Mapping[str, Any]):
    """A mapping as MessagePack, unpacked at each access.

    >>> pack_around({"a": 1, "b": Packed([pack([2, 3])])})["b"]
    (2, 3)
    """

    def _unpacked(self) -> Mapping[str, Any]:
        unpacked: Mapping[str, Any] = unpack(b"".join(self.iter_chunks()))
        return unpacked

    def __getitem__(self, name: str) -> Any:
        return self._unpacked()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._unpacked())

    def __len__(self) -> int:
        return len(self._unpacked())


def pack_around(fields: Mapping[str, Any]) -> PackedMapping:
    """Pack a mapping; values that are `Packed` are not packed again."""
    chunks: list[bytes | Packed] = [msgpack.Packer().pack_map_header(len(fields))]
    for name, value in fields.items():
        chunks += [pack(name), packed_of(value)]
    return PackedMapping(chunks)


def pack_row(values: Sequence[Any]) -> Packed:
    """Pack a sequence; values that are `Packed` are not packed again."""
    return Packed([msgpack.Packer().pack_array_header(len(values)), *map(packed_of, values)])


def packed_of(value: Any) -> bytes | Packed:
    """Pack a value, unless it is already packed."""
    return value if isinstance(value, Packed) else pack(value)


def pack_bytes(content: Packed) -> PackedLater:
    """Pack bytes that are not written yet."""
    return PackedLater(content.size_bytes, lambda: _as_bytes(content.chunks))


def _as_bytes(chunks: Sequence[bytes]) -> Sequence[bytes]:
    size = sum(map(len, chunks))
    kind = next((kind for kind in (0, 1, 2) if size < 1 << (8 << kind)), 2)
    return [bytes([0xC4 + kind]) + size.to_bytes(1 << kind, "big"), *chunks]
