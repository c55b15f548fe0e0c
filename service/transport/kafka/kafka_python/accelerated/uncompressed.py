"""Uncompress the records of a batch of kafka-python piece by piece.

A batch of 300 KB may hold 30 million records, or 300 MB of zeros. kafka-python would uncompress all of it;
this module uncompresses only as much as the requested records need.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from typing import IO, Any, Final

from kafka import codec
from kafka.record.default_records import DefaultRecordBatch

from service.errors import TransportError

_PIECE_BYTES: Final = 1 << 18
_MOST_BYTES: Final = 64 << 20
_MOST_TIMES: Final = 20
"""Of one record: so many bytes, or so many times those of its batch."""
_HINT: Final = "kafka-python reads none so long from a compressed batch: use --kafka-client confluent"


def _zstd(data: io.BytesIO) -> Any:  # noqa: ANN401 - of a package that may be missing
    return codec.zstd.ZstdDecompressor().stream_reader(data, read_across_frames=True)


class Uncompressed:
    """What is uncompressed of a batch in format 2, and not read yet.

    Parameters
    ----------
    batch
        A `DefaultRecordBatch`: the bytes are taken from its private attributes, and `read_all` gives it the
        rest of them.

    Attributes
    ----------
    data
        The bytes.
    at : int
        Where the next record begins in them.

    """

    def __init__(self, batch: Any) -> None:  # noqa: ANN401 - kafka-python has no types
        self._batch = batch
        open_stream = _streams(batch).get(batch.compression_type)
        self._stream: IO[bytes] | None = None
        if open_stream is None:
            DefaultRecordBatch.__iter__(batch)  # uncompresses it
            self.data, self.at = batch._buffer, batch._pos  # noqa: SLF001 - nothing public holds the records
            return
        compressed = memoryview(batch._buffer)[batch._pos :]  # noqa: SLF001
        self._most_bytes = max(_MOST_BYTES, _MOST_TIMES * len(compressed))
        self._stream = open_stream(io.BytesIO(compressed))
        self.data, self.at = b"", 0

    def read_on(self) -> bool:
        """Uncompress more; return whether there was anything.

        Raises
        ------
        TransportError
            A record has no end within the limit.

        """
        if self._stream is None:
            return False
        rest = bytes(self.data[self.at :])
        if len(rest) > self._most_bytes:
            where = f"a record in the compressed batch at offset {self._batch.base_offset}"
            raise TransportError(f"{where} is longer than {self._most_bytes} bytes", hint=_HINT)
        more = self._stream.read(min(max(_PIECE_BYTES, len(rest)), self._most_bytes + 1 - len(rest)))
        self.data, self.at = rest + more, 0
        return bool(more)

    def read_all(self) -> None:
        """Give the batch what is left, for kafka-python to read, or to refuse in its own words."""
        while self.read_on():
            pass
        batch = self._batch
        batch._buffer, batch._pos, batch._decompressed = self.data, self.at, True  # noqa: SLF001


def _streams(batch: Any) -> dict[int, Callable[[io.BytesIO], IO[bytes]]]:  # noqa: ANN401 - as above
    """Return what reads each codec in pieces; of the others, Snappy makes 21 bytes of one at most."""
    found: dict[int, Callable[[io.BytesIO], IO[bytes]]] = {batch.CODEC_GZIP: gzip.open}  # type: ignore[dict-item]
    if hasattr(codec.lz4, "LZ4FrameFile"):
        found[batch.CODEC_LZ4] = codec.lz4.LZ4FrameFile
    if codec.zstd is not None:
        found[batch.CODEC_ZSTD] = _zstd
    return found
