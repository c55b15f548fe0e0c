"""Find the handle of a client of confluent-kafka, and the functions of the librdkafka that it has loaded.

The functions are those of `rdkafka.h`. Where the client's objects keep the handle is not published, so it is
read in tested releases only.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Final

import confluent_kafka
from confluent_kafka import Consumer, Producer, cimpl, libversion

from service.transport.kafka.confluent.release import RELEASE
from service.transport.kafka.published import report_published_way

TESTED: Final = frozenset(
    {
        ("2.11.0", "2.11.0"),
        ("2.11.1", "2.11.1"),
        ("2.12.1", "2.12.1"),
        ("2.12.2", "2.12.1"),
        ("2.13.0", "2.13.0"),
        ("2.13.2", "2.13.2"),
        ("2.14.0", "2.14.0"),
        ("2.14.2", "2.14.2"),
        ("2.15.0", "2.15.0"),
        ("2.15.1", "2.15.1"),
        ("2.16.0", "2.16.0"),
        ("2.16.1", "2.16.0"),
    }
)
"""Releases of confluent-kafka, each with the release of librdkafka in its package.

The package 2.12.0 does not say which one that is.
"""


FUNCTIONS: Final = (
    "rd_kafka_queue_new",
    "rd_kafka_queue_get_consumer",
    "rd_kafka_queue_get_partition",
    "rd_kafka_queue_forward",
    "rd_kafka_queue_cb_event_enable",
    "rd_kafka_queue_yield",
    "rd_kafka_queue_destroy",
    "rd_kafka_consume_batch_queue",
    "rd_kafka_message_destroy",
    "rd_kafka_message_timestamp",
    "rd_kafka_message_headers",
    "rd_kafka_header_get_all",
    "rd_kafka_topic_name",
    "rd_kafka_message_errstr",
    "rd_kafka_topic_new",
    "rd_kafka_topic_destroy",
    "rd_kafka_produce_batch",
)
"""In the order of `Functions` in `librdkafka.pyx`."""
# What librdkafka calls its clients: "rdkafka#consumer-1".
_KINDS: Final = {Consumer: b"#consumer-", Producer: b"#producer-"}


def reason_against() -> str | None:
    """Return why the installed release does not fit; None if it does."""
    release, library_release = releases = (confluent_kafka.__version__, libversion()[0])
    if releases not in TESTED:
        return f"release {release} with librdkafka {library_release} was not tested"
    try:
        _addresses()
    except AttributeError as error:  # the library does not show what it links to, as on Windows
        return str(error)
    return None


def entry_points(client: object) -> list[int] | None:
    """Return the addresses of a client's handle and of the functions; None for the published way."""
    handle = _handle(client)
    if handle is None:
        report_published_way(str(RELEASE), "a client has no handle where it is looked for")
        return None
    return [handle, *_addresses()]


def _addresses() -> list[int]:
    found = [ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value for name in FUNCTIONS]
    return [address for address in found if address is not None]


@cache
def _library() -> ctypes.CDLL:
    """Load confluent-kafka's extension module, through which librdkafka's functions are found."""
    return ctypes.CDLL(cimpl.__file__)


def _handle(client: object) -> int | None:
    """Return the client's `rd_kafka_t` pointer, its first field in C; None if that is no such pointer."""
    kind = _KINDS.get(type(client))
    if kind is None:
        return None
    handle = ctypes.c_void_p.from_address(id(client) + object.__basicsize__).value
    if not handle or handle % ctypes.alignment(ctypes.c_void_p):
        return None
    rd_kafka_name = _library().rd_kafka_name
    rd_kafka_name.restype, rd_kafka_name.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    return handle if kind in (rd_kafka_name(handle) or b"") else None
