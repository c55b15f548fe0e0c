"""Sealed bytes: a body with its kind, its version and a checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from perceptron_core.errors import DamagedError, NewerError

_DIGEST_BYTES: Final = 16
_VERSION_BYTES: Final = 2


def seal(kind: bytes, version: int, body: bytes) -> bytes:
    """Prefix `body` with a kind, a version and a BLAKE2b checksum of all of it."""
    return b"".join(seal_pieces(kind, version, [body]))


def seal_pieces(kind: bytes, version: int, pieces: Iterable[bytes]) -> Sequence[bytes]:
    """Return the pieces of what `seal` returns, from those of the body."""
    head, body = kind + version.to_bytes(_VERSION_BYTES, "big"), [*pieces]
    return [head + _digest(head, *body), *body]


def unseal(kind: bytes, versions: range, data: bytes) -> tuple[int, bytes]:
    """Check the seal; return the version and the body.

    Raises
    ------
    DamagedError
        Another kind of data, a version not in `versions`, truncated, or changed since it was sealed.
    NewerError
        Sound, of a version behind `versions`.

    """
    name = kind.decode()
    if not data.startswith(kind):
        raise DamagedError(f"this is no {name}")
    start = len(kind) + _VERSION_BYTES
    head, digest, body = data[:start], data[start : start + _DIGEST_BYTES], data[start + _DIGEST_BYTES :]
    if len(digest) < _DIGEST_BYTES:
        raise DamagedError(f"this {name} is cut off after {len(data)} bytes")
    version = int.from_bytes(head[len(kind) :], "big")
    if version not in versions:
        known = f"this release reads {versions.start} to {versions.stop - 1}"
        if version >= versions.stop and digest == _digest(head, body):
            raise NewerError(f"this {name} has version {version}; {known}: a newer release wrote it")
        raise DamagedError(f"this {name} has version {version}; {known}")
    if digest != _digest(head, body):
        raise DamagedError(f"this {name} is damaged: its checksum does not fit its {len(body)} bytes")
    return version, body


def checksum(kind: bytes, data: bytes) -> bytes:
    """Return the checksum in sealed bytes, or in their first piece."""
    start = len(kind) + _VERSION_BYTES
    return data[start : start + _DIGEST_BYTES]


def _digest(head: bytes, *body: bytes) -> bytes:
    digest = hashlib.blake2b(head, digest_size=_DIGEST_BYTES)
    for piece in body:
        digest.update(piece)
    return digest.digest()
