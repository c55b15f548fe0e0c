"""Parse addresses such as ``host:port``; the default stream."""

from __future__ import annotations

from pathlib import Path

import platformdirs

MAX_PORT = 65_535

_ALL = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def default_stream_path() -> Path:
    """Return where the stream is kept when no broker is named."""
    return platformdirs.user_data_path("online-perceptron", appauthor=False) / "stream.db"


def split_address(address: str) -> tuple[str, int]:
    """Split ``host:port``; an IPv6 host stands in brackets.

    >>> split_address("[::1]:8000")
    ('::1', 8000)
    """
    host, colon, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bare_ipv6 = ":" in bare and bare == host
    if not colon or not bare or bare_ipv6 or not port.isdecimal() or int(port) > MAX_PORT:
        raise ValueError("expected host:port, such as 127.0.0.1:8000 or [::1]:8000")
    return bare, int(port)


def url_at(host: str, port: int) -> str:
    """Return the URL at which this machine finds a server that listens there.

    >>> url_at("::1", 8000), url_at("0.0.0.0", 8000)
    ('http://[::1]:8000', 'http://localhost:8000')
    """
    name = "localhost" if host in _ALL else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach ``host:port``."""
    return split_address(address)[0].lower() in _LOOPBACK
