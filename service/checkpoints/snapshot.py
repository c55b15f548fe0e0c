"""Snapshots: the whole state of a task, in chunks that any broker takes.

A snapshot is MessagePack in an envelope with version and checksum; no pickle, except inside it where the
model itself is one of River's, and then signed (`service.models.river`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.errors import NewerError
from perceptron_core.formats.envelope import seal_pieces, unseal
from perceptron_core.formats.packed import pack_row, unpack

_KIND: Final = b"perceptron-snapshot"
_VERSION: Final = 1
_CHUNK_BYTES: Final = 512 * 1024
"""Half of what Kafka's brokers take by default, so that headers and batch overhead fit beside it."""


class Snapshot(NamedTuple):
    """What a task needs to go on after the batch with number `sequence`."""

    sequence: int
    offsets: Mapping[str, int]
    """Next offset to be processed, by input topic."""
    identity: Mapping[str, Any]
    """The settings under which the state came about."""
    state: Mapping[str, Any]
    """`Processor.state`; to be written it may be packed already."""
    topic_ids: Mapping[str, str] = MappingProxyType({})
    """Which input topics the offsets are of; empty in snapshots of older releases."""


def to_chunks(snapshot: Snapshot) -> Sequence[bytes]:
    """Write a snapshot down, in pieces of at most half a mebibyte."""
    fields = (*snapshot[:-1], dict(snapshot.topic_ids))
    chunks, waiting = [], bytearray()
    for piece in seal_pieces(_KIND, _VERSION, pack_row(fields).written()):
        waiting += piece
        while len(waiting) > _CHUNK_BYTES:
            chunks.append(bytes(waiting[:_CHUNK_BYTES]))
            del waiting[:_CHUNK_BYTES]
    return [*chunks, bytes(waiting)]


def from_chunks(chunks: Sequence[bytes]) -> Snapshot:
    """Read a snapshot.

    Raises
    ------
    DamagedError
        A chunk is missing, damaged, or of a version this release does not know.
    NewerError
        A newer release wrote it.

    """
    _, body = unseal(_KIND, range(1, _VERSION + 1), b"".join(chunks))
    try:
        fields = tuple(unpack(body))
        snapshot = Snapshot(*fields[: len(Snapshot._fields)])
        offsets = all(isinstance(offset, int) for offset in snapshot.offsets.values())
    except (TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"this perceptron-snapshot cannot be read: {error}") from error
    if len(fields) > len(snapshot):
        raise NewerError(f"this perceptron-snapshot has {len(fields)} fields: a newer release wrote it")
    if not (offsets and isinstance(snapshot.sequence, int) and all(map(_is_mapping, snapshot[1:]))):
        raise DamagedError("this perceptron-snapshot cannot be read: its fields have other types")
    return snapshot


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)
