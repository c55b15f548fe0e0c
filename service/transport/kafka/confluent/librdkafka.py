"""Access to the librdkafka of confluent-kafka. In: a client. Out: addresses of its handle and functions.

confluent-kafka makes a Python object of each message, which takes longer than most of the processing does.
Compiled code calls librdkafka, which is loaded already, with the client's own handle. It uses only what
`rdkafka.h` declares: names and structures that do not change within a major version. Where the objects of
confluent-kafka keep the handle is not documented, so it is checked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Final

from confluent_kafka import Consumer, Producer, cimpl, libversion, version

_KNOWN_MAJOR: Final = "2"
# What librdkafka calls its clients: "rdkafka#consumer-1".
_KINDS: Final = {Consumer: b"#consumer-", Producer: b"#producer-"}


def entry_points(client: object, names: Sequence[str]) -> list[int] | None:
    """Return the addresses of a client's handle and these functions; None if the release is unsupported."""
    library, kind = _library(), _KINDS.get(type(client))
    if library is None or kind is None:
        return None
    try:
        functions = [_address(library, name) for name in names]
    except AttributeError:  # the library does not show what it links to, as on Windows
        return None
    handle = _handle(library, client, kind)
    return None if handle is None else [handle, *functions]


@cache
def _library() -> ctypes.CDLL | None:
    """Load confluent-kafka's extension module, through which librdkafka's functions are found."""
    releases = (version(), libversion()[0])
    if any(release.partition(".")[0] != _KNOWN_MAJOR for release in releases):
        return None
    return ctypes.CDLL(cimpl.__file__)


def _address(library: ctypes.CDLL, name: str) -> int:
    found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert found is not None
    return found


def _handle(library: ctypes.CDLL, client: object, kind: bytes) -> int | None:
    """Return the client's `rd_kafka_t` pointer, its first field in C; None if that is no such pointer."""
    handle = ctypes.c_void_p.from_address(id(client) + object.__basicsize__).value
    if not handle or handle % ctypes.alignment(ctypes.c_void_p):
        return None
    rd_kafka_name = library.rd_kafka_name
    rd_kafka_name.restype, rd_kafka_name.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    return handle if kind in (rd_kafka_name(handle) or b"") else None
