"""Connections that receive more than kafka-python's 4096 bytes at once."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kafka.errors import KafkaConnectionError

from service.transport.kafka.kafka_python.connections import ConnectionManager, Connections

_RECEIVE_BYTES: Final = 262_144
_NOTHING_THERE: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _BulkConnectionManager(ConnectionManager):
    async def _build_transport(self, *node: object, **options: object) -> Any:  # noqa: ANN401 - no types
        transport = await super()._build_transport(*node, **options)
        transport._sock_recv = partial(received, transport._sock.recv)  # noqa: SLF001
        return transport


class BulkConnections(Connections):
    """Connections that receive what is there in a few calls."""

    manager_class = _BulkConnectionManager


def received(receive: Callable[[int], bytes]) -> tuple[bytes, Exception | None]:
    """Return the bytes received on a connection, or the error that ended it.

    kafka-python's own function discards a response that arrives together with the end of the connection, as
    refusals do. Here the next call finds the end.
    """
    parts = []
    error = None
    try:
        while part := receive(_RECEIVE_BYTES):
            parts.append(part)
        error = KafkaConnectionError("socket disconnected")
    except _NOTHING_THERE:
        pass
    except Exception as failure:  # noqa: BLE001 - whatever ended it
        error = KafkaConnectionError(failure)
    return b"".join(parts), None if parts else error
