"""kafka-python's connections. In: brokers' addresses. Out: what they send, and why a connection failed."""

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

_RECEIVE_BYTES: Final = 262_144
_NOTHING_THERE: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_REFUSALS: Final = (AuthorizationError, SaslAuthenticationFailedError, UnsupportedSaslMechanismError)
_BROKEN_OFF: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""A broker that ends in the middle of a handshake has refused nothing."""
_NO_ADDRESS: Final = "DNS Resolution failure"
"""What kafka-python says of a name without an address, in a `KafkaConnectionError` like any other."""
REFUSED: Final = "refused"
UNRESOLVED: Final = "unresolved"


def connected_client(failures: dict[str, Exception], **settings: object) -> Any:  # noqa: ANN401 - no types
    """Make a client's network, which notes in `failures` why connections failed: the last of each sort."""
    network = NetworkSelector(**settings)
    return KafkaNetClient(net=network, manager=_ConnectionManager(network, failures, **settings), **settings)


class _ConnectionManager(KafkaConnectionManager):  # type: ignore[misc] # kafka-python has no types
    """kafka-python's connections, which also keep why they failed: refused logins and certificates, lookups.

    The client itself tries again until its time is up, and then says no more than that.
    """

    def __init__(self, network: NetworkSelector, failures: dict[str, Exception], **settings: object) -> None:
        super().__init__(network, **settings)
        self._failures = failures
        self.n_ended = 0
        """Grows when a connection ends, for whatever reason."""

    def get_connection(self, *node: object, **options: object) -> Any:  # noqa: ANN401 - no types
        connection = super().get_connection(*node, **options)
        if not connection.init_future.is_done:
            connection.init_future.add_errback(self._note)
            connection.close_future.add_both(self._count_end)
        return connection

    def _count_end(self, _: object) -> None:
        self.n_ended += 1

    def _note(self, error: Exception) -> None:
        reason = _tls_failure(error) or error
        self._failures[_sort(reason)] = reason

    async def _build_transport(self, *node: object, **options: object) -> Any:  # noqa: ANN401 - no types
        transport = await super()._build_transport(*node, **options)
        receive = partial(received, transport._sock.recv)  # noqa: SLF001 - nothing public reaches it
        transport._sock_recv = receive  # noqa: SLF001
        return transport


class PlainSelector(selectors.DefaultSelector):
    """A selector that does not describe the sockets it does not know.

    kafka-python looks each one up before it waits for it, and unregisters it afterwards. For the message of
    the `KeyError`, which nobody reads, the standard library asks the system for both of its addresses.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401
        """Wait for `events` of a socket."""
        key = super().register(fileobj, events, data)
        self._keys[key.fd] = key
        return key

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401
        """Wait for other `events` of a socket."""
        key = super().modify(fileobj, events, data)
        self._keys[key.fd] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401
        """Wait for nothing of a socket any more."""
        key = super().unregister(fileobj)
        self._keys.pop(key.fd, None)
        return key

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401
        """Return what a socket was registered with. Raises `KeyError` if it was not."""
        number = fileobj.fileno()
        return super().get_key(fileobj) if number < 0 else self._keys[number]


def received(receive: Callable[[int], bytes]) -> tuple[bytes, Exception | None]:
    """Return what has come of a connection, or why nothing more will.

    kafka-python's own takes 4096 bytes at a time, and throws away an answer that comes together with the end
    of the connection, as a refusal does: here the end is still there to be found next time.
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
    """Return of which sort a failure is: of each the last one is kept."""
    if isinstance(failure, (*_REFUSALS, ssl.SSLError)):
        return REFUSED
    return UNRESOLVED if _NO_ADDRESS in str(failure) else "other"


def _tls_failure(error: Exception) -> ssl.SSLError | None:
    """Find what was wrong with the handshake; the client wraps it, or only says it in words."""
    for each in (error.__context__, *error.args):
        if isinstance(each, ssl.SSLError) and not isinstance(each, _BROKEN_OFF):
            return each
    return None
