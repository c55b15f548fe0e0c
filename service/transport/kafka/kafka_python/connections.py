"""The connections of kafka-python: receiving bytes, and the reason why a connection failed."""

from __future__ import annotations

import selectors
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kafka.errors import (
    AuthorizationError,
    KafkaConnectionError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from service.transport.kafka.kafka_python.private import CLOSING, RECEIVING, may_use

_RECEIVE_BYTES: Final = 262_144
_ASK_AGAIN_MILLISECONDS: Final = 50
_NOTHING_THERE: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_REFUSALS: Final = (AuthorizationError, SaslAuthenticationFailedError, UnsupportedSaslMechanismError)
_BROKEN_OFF: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""Errors of a handshake that the broker broke off, which is no refusal."""
_NO_ADDRESS: Final = "DNS Resolution failure"
"""Part of kafka-python's message for a host name without an address, which has no error class of its own."""
REFUSED: Final = "refused"
UNRESOLVED: Final = "unresolved"


class Connections(KafkaNetClient):  # type: ignore[misc] # kafka-python has no types
    """Connections of one client, which records the last failure of each kind in `failures`.

    It reports a node without a connection as the sender expects to hear of it. kafka-python's own raises
    instead: its sender (3.0.12) then looks for the coordinator and forgets the request that it wanted to
    send, and the transaction stands still until its time is over. After an answer of False it sends the
    request to the coordinator that it finds.
    """

    def __init__(self, failures: dict[str, Exception], **settings: object) -> None:
        self.network = Network(**settings)
        self._watched = _ConnectionManager(self.network, failures, **settings)
        super().__init__(net=self.network, manager=self._watched, **settings)

    @property
    def n_ended(self) -> int:
        """Number of connections that have ended, for any reason."""
        return self._watched.n_ended

    def silent_brokers(self) -> list[str]:
        """Return the addresses of brokers whose connection broke, or that have not answered yet."""
        reasons = {
            broker.node_id: f"{broker.host}:{broker.port}"
            for broker in self.cluster.brokers()
            if self.in_flight_request_count(broker.node_id)
        }
        return sorted({*self._watched.lost.copy().values(), *reasons.values()})

    def await_ready(self, node_id: object, timeout_ms: float = 30_000) -> bool:
        """Wait for a connection; return whether there is one."""
        try:
            super().await_ready(node_id, timeout_ms=timeout_ms)
        except KafkaConnectionError:
            # Until the cluster has noticed the death of a coordinator, it names the dead one.
            self.poll(timeout_ms=_ASK_AGAIN_MILLISECONDS)
            return False
        return True


class Network(NetworkSelector):  # type: ignore[misc] # kafka-python has no types
    """Event loop that closes its sockets when it is closed.

    kafka-python cancels the tasks that wait for a socket, and leaves a socket that is still connecting to the
    garbage collector.
    """

    def close(self) -> None:
        """Stop, cancel what waits for a socket, and close the sockets."""
        if not may_use(CLOSING):
            super().close()
            return
        if self._closed:
            return
        self.stop()
        self.drain()
        waiting = [key.fileobj for key in self._selector.get_map().values()]
        super().close()
        for each in waiting:
            each.close()


class _ConnectionManager(KafkaConnectionManager):  # type: ignore[misc] # kafka-python has no types
    """Connection manager that records failures: refused logins, refused certificates, failed lookups.

    kafka-python itself retries until its time limit, and then reports nothing but that.
    """

    def __init__(self, network: NetworkSelector, failures: dict[str, Exception], **settings: object) -> None:
        super().__init__(network, **settings)
        self._failures = failures
        self.n_ended = 0
        self.lost: dict[object, str] = {}
        """Addresses of brokers whose last connection broke, by node."""

    def get_connection(self, node_id: object, *given: object, **options: object) -> Any:  # noqa: ANN401 - no types
        connection = super().get_connection(node_id, *given, **options)
        if not connection.init_future.is_done:
            connection.init_future.add_callback(lambda _: self.lost.pop(node_id, None))
            connection.init_future.add_errback(self._note)
            connection.close_future.add_both(partial(self._note_end, node_id))
        return connection

    def _note_end(self, node_id: object, reason: object) -> None:
        self.n_ended += 1
        broker = None if self.cluster.is_bootstrap(node_id) else self.cluster.broker_metadata(node_id)
        if isinstance(reason, Exception) and broker is not None:
            self.lost[node_id] = f"{broker.host}:{broker.port}"

    def _note(self, error: Exception) -> None:
        reason = _tls_failure(error) or error
        self._failures[_sort(reason)] = reason

    async def _build_transport(self, *node: object, **options: object) -> Any:  # noqa: ANN401 - no types
        transport = await super()._build_transport(*node, **options)
        if not may_use(RECEIVING):
            return transport
        receive = partial(received, transport._sock.recv)  # noqa: SLF001 - nothing public reaches it
        transport._sock_recv = receive  # noqa: SLF001
        return transport


class PlainSelector(selectors.DefaultSelector):
    """A selector whose `KeyError` for an unregistered socket does not describe the socket.

    kafka-python looks up each socket before it waits, and unregisters it afterwards. For the message of the
    `KeyError`, which is not used, the standard library asks the system for both addresses of the socket.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401
        """Register a socket for `events`."""
        key = super().register(fileobj, events, data)
        self._keys[key.fd] = key
        return key

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401
        """Change the `events` of a registered socket."""
        key = super().modify(fileobj, events, data)
        self._keys[key.fd] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401
        """Unregister a socket."""
        key = super().unregister(fileobj)
        self._keys.pop(key.fd, None)
        return key

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401
        """Return the key of a registered socket. Raises `KeyError` for any other."""
        number = fileobj.fileno()
        return super().get_key(fileobj) if number < 0 else self._keys[number]


def received(receive: Callable[[int], bytes]) -> tuple[bytes, Exception | None]:
    """Return the bytes received on a connection, or the error that ended it.

    kafka-python's own function reads 4096 bytes at a time, and discards a response that arrives together with
    the end of the connection, as refusals do. Here the next call finds the end.
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


def _sort(failure: Exception) -> str:
    """Return the kind of a failure; the last one of each kind is kept."""
    if isinstance(failure, (*_REFUSALS, ssl.SSLError)):
        return REFUSED
    return UNRESOLVED if _NO_ADDRESS in str(failure) else "other"


def _tls_failure(error: Exception) -> ssl.SSLError | None:
    """Return the TLS error of a refused handshake, which kafka-python wraps; None for any other failure."""
    for each in (error.__context__, *error.args):
        if isinstance(each, ssl.SSLError) and not isinstance(each, _BROKEN_OFF):
            return each
    return None
