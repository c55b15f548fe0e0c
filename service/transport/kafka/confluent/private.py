"""The unpublished part of confluent-kafka that is used: where its objects keep the handle of librdkafka.

confluent-kafka makes a Python object of each message, which takes longer than most of the processing does.
Compiled code (`fetch_queue.pyx`, `output_sender.pyx`) calls the librdkafka that the client has loaded, with
the client's own handle. The functions are those of `rdkafka.h`; `fetch_queue.pxd` and `output_sender.pxd`
declare them. Where the client's objects keep the handle is not published, so the handle is read in tested
releases only. In all others, messages pass through the client's published methods.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Final, NamedTuple

import confluent_kafka
from confluent_kafka import Consumer, Producer, cimpl, libversion

from service.errors import ConfigurationError
from service.transport.kafka.published import PUBLISHED_ONLY, published_only, report_published_way

OLDEST: Final = "2.11"
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


class Part(NamedTuple):
    """Functions of librdkafka, and what they serve."""

    what: str
    functions: tuple[str, ...]


READING: Final = Part(
    "reading records",
    (
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
    ),
)
"""In the order of `Functions` in `fetch_queue.pxd`."""
WRITING: Final = Part(
    "writing records", ("rd_kafka_topic_new", "rd_kafka_topic_destroy", "rd_kafka_produce_batch")
)
"""In the order of `Functions` in `output_sender.pxd`."""
# What librdkafka calls its clients: "rdkafka#consumer-1".
_KINDS: Final = {Consumer: b"#consumer-", Producer: b"#producer-"}


def check() -> None:
    """Refuse a release that the service cannot do with.

    Raises
    ------
    ConfigurationError
        With the releases that it can do with.

    """
    if _numbers(confluent_kafka.__version__) < _numbers(OLDEST):
        raise unsupported(f"it is older than {OLDEST}")


def unsupported(reason: str) -> ConfigurationError:
    """Make the error for a release that cannot be used."""
    tested = sorted((client for client, _ in TESTED), key=_numbers)
    return ConfigurationError(
        f"confluent-kafka {confluent_kafka.__version__} cannot be used: {reason}",
        hint=f"install a release that was tested ({tested[0]} to {tested[-1]}): "
        f"pip install confluent-kafka=={tested[-1]}; or use --kafka-client kafka-python",
    )


def entry_points(client: object, part: Part) -> list[int] | None:
    """Return the addresses of a client's handle and of a part's functions; None for the published way."""
    found = f"{PUBLISHED_ONLY} is set" if published_only() else _find(client, part)
    if isinstance(found, list):
        return found
    report_published_way(f"confluent-kafka {confluent_kafka.__version__}", part.what, found)
    return None


def _find(client: object, part: Part) -> list[int] | str:
    """Return the addresses, or why there are none."""
    release, library_release = releases = (confluent_kafka.__version__, libversion()[0])
    if releases not in TESTED:
        return f"release {release} with librdkafka {library_release} was not tested"
    try:
        functions = [_address(name) for name in part.functions]
    except AttributeError as error:  # the library does not show what it links to, as on Windows
        return str(error)
    handle = _handle(client)
    return "the client has no handle where it is looked for" if handle is None else [handle, *functions]


@cache
def _library() -> ctypes.CDLL:
    """Load confluent-kafka's extension module, through which librdkafka's functions are found."""
    return ctypes.CDLL(cimpl.__file__)


def _address(name: str) -> int:
    found = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    assert found is not None
    return found


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


def _numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]
