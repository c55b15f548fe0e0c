"""The connections of kafka-python, and why one failed."""

from __future__ import annotations

import selectors
import ssl
from functools import partial
from typing import Any, Final
from weakref import WeakSet

from kafka.errors import (
    AuthorizationError,
    KafkaConnectionError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

_ASK_AGAIN_MILLISECONDS: Final = 50
_REFUSALS: Final = (AuthorizationError, SaslAuthenticationFailedError, UnsupportedSaslMechanismError)
_BROKEN_OFF: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""Errors of a handshake that the broker broke off, which is no refusal."""
_NO_ADDRESS: Final = "DNS Resolution failure"
"""Part of kafka-python's message for a host name without an address, which has no error class of its own."""
REFUSED: Final = "refused"
UNRESOLVED: Final = "unresolved"


class ConnectionManager(KafkaConnectionManager):  # type: ignore[misc] # kafka-python has no types
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
        """Return a connection to a node, which is watched."""
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


class Connections(KafkaNetClient):  # type: ignore[misc] # kafka-python has no types
    """Connections of one client, which records the last failure of each kind in `failures`.

    It reports a node without a connection as the sender expects to hear of it. kafka-python's own raises
    instead: its sender (3.0.12) then looks for the coordinator and forgets the request that it wanted to
    send, and the transaction stands still until its time is over. After an answer of False it sends the
    request to the coordinator that it finds.
    """

    manager_class = ConnectionManager

    def __init__(self, failures: dict[str, Exception], **settings: object) -> None:
        self.network = NetworkSelector(**settings)
        self._watched = self.manager_class(self.network, failures, **settings)
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


class Selector(selectors.DefaultSelector):
    """A selector for an event loop of kafka-python, which leaves two things to be desired.

    It looks up each socket before it waits for it, and unregisters it afterwards. For the message of the
    `KeyError`, which is not used, the standard library asks the system for both addresses of the socket. And
    an event loop that is closed leaves a socket that is still connecting to the garbage collector.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sockets: WeakSet[Any] = WeakSet()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401
        """Register a socket for `events`."""
        self._sockets.add(fileobj)
        return super().register(fileobj, events, data)

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401
        """Return the key of a registered socket. Raises `KeyError` for any other."""
        number = fileobj.fileno()
        return super().get_key(fileobj if number < 0 else number)

    def close(self) -> None:
        """Close the sockets as well."""
        super().close()
        for each in list(self._sockets):
            each.close()


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
