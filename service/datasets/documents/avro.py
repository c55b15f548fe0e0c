"""Avro object container files: their schema is in them, and their records become events as rows of tables do.

Avro 1.12, Specification, "Object container files". A file that is damaged is read up to the block before.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from service.datasets.columns import Columns
from service.datasets.rows import FileFormat, Lines
from service.datasets.tables import DamagedTable, row_writer
from service.formats.avro import avro_decoder
from service.formats.protobuf.files import UnusableSchema

MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_MOST_HEADER_BYTES: Final = 16 << 20
MOST_BLOCK_BYTES: Final = 64 << 20
"""Of a block, compressed or not: it is in memory as a whole."""
_MOST_LONG_BITS: Final = 63


def avro_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each record, numbered as lines are. Raises `DamagedTable`."""
    stream = lines.stream
    if stream.read(len(MAGIC)) != MAGIC:
        raise DamagedTable("the file is no Avro container: it does not begin with Obj and 1")
    header = _metadata(stream)
    sync = _bytes(stream, _SYNC_BYTES, "its header")
    schema, codec = header.get("avro.schema", b""), header.get("avro.codec", b"null").decode(errors="replace")
    if codec not in _CODECS:
        raise DamagedTable(
            f"it is compressed by {codec!r}, which is not read here: write it with deflate, bzip2, xz or null"
        )
    try:
        decoder = avro_decoder([schema])
        write = row_writer(_fields(schema), columns)
    except UnusableSchema as error:
        raise DamagedTable(f"its schema cannot be used: {error}") from None
    for number, (count, block) in enumerate(_blocks(stream, sync, codec), start=1):
        decoder.begin(block)
        for _ in range(count):
            lines.number += 1
            try:
                record = decoder.next_value()
            except (ValueError, RecursionError) as error:
                raise DamagedTable(f"record {lines.number}, in block {number}, is damaged: {error}") from None
            if not isinstance(record, dict):  # which no schema of a record allows
                raise DamagedTable(f"record {lines.number} is no record")
            yield write(record, lines.number)
        if left := decoder.n_left():
            raise DamagedTable(f"block {number} is damaged: {left} bytes are left behind its last record")


def _fields(schema: bytes) -> list[str]:
    """Return the names of the fields of a schema; none of one that is a union, say."""
    parsed = json.loads(schema)
    fields = parsed.get("fields") if isinstance(parsed, dict) else None
    if fields is None:
        raise UnusableSchema("its values are no records")
    return [field["name"] for field in fields]


def _metadata(stream: io.BufferedReader) -> dict[str, bytes]:
    """Read the map in a header."""
    found: dict[str, bytes] = {}
    left = _MOST_HEADER_BYTES
    while count := _long(stream, "its header"):
        if count < 0:
            _long(stream, "its header")
        for _ in range(abs(count)):
            name, value = (_sized(stream, left) for _ in range(2))
            found[name.decode(errors="replace")] = value
            left -= len(name) + len(value) + 1
    return found


def _sized(stream: io.BufferedReader, most: int) -> bytes:
    size = _long(stream, "its header")
    if not 0 <= size <= most:
        raise DamagedTable(f"its header is damaged, or longer than {_MOST_HEADER_BYTES} bytes")
    return _bytes(stream, size, "its header")


def _blocks(stream: io.BufferedReader, sync: bytes, codec: str) -> Iterator[tuple[int, bytes]]:
    """Yield the number of records of each block, and its bytes."""
    number = 0
    while stream.peek(1):
        number += 1
        what = f"block {number}"
        count, size = _long(stream, what), _long(stream, what)
        if count < 0 or size < 0:
            raise DamagedTable(f"{what} is damaged: it has {count} records in {size} bytes")
        if size > MOST_BLOCK_BYTES:
            raise DamagedTable(f"{what} is damaged, or longer than {MOST_BLOCK_BYTES} bytes")
        block = _bytes(stream, size, what)
        if _bytes(stream, _SYNC_BYTES, what) != sync:
            raise DamagedTable(f"{what} is damaged: the file's marker does not follow")
        try:
            block = _CODECS[codec](block)
        except (ValueError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise DamagedTable(f"{what} is damaged: {error}") from None
        if len(block) > MOST_BLOCK_BYTES:
            raise DamagedTable(f"{what} has more than {MOST_BLOCK_BYTES} bytes: write smaller blocks")
        yield count, block


def _bytes(stream: io.BufferedReader, size: int, what: str) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise DamagedTable(f"the file is incomplete: it ends within {what}")
    return found


def _long(stream: io.BufferedReader, what: str) -> int:
    value = 0
    for shift in range(0, _MOST_LONG_BITS + 1, 7):
        byte = _bytes(stream, 1, what)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the last one
            return (value >> 1) ^ -(value & 1)
    raise DamagedTable(f"{what} is damaged: a number has more than ten bytes")


def _bounded(decompressor: Any, block: bytes) -> bytes:  # noqa: ANN401 - of any of the modules
    return bytes(decompressor.decompress(block, MOST_BLOCK_BYTES + 1))


_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "null": lambda block: block,
    "deflate": lambda block: _bounded(zlib.decompressobj(-15), block),
    "bzip2": lambda block: _bounded(bz2.BZ2Decompressor(), block),
    "xz": lambda block: _bounded(lzma.LZMADecompressor(), block),
}
AVRO: Final = FileFormat("avro", (".avro",), avro_events, is_text=False)
