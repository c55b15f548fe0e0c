"""Trace context (W3C) in headers of records, which their answers carry on."""

from __future__ import annotations

from typing import Final

from service.stream.protocol import Headers

PARENT: Final = "traceparent"
_NAMES: Final = (PARENT, "tracestate")
_LONGEST: Final = 512
"""Bytes of a value that is carried on. A `traceparent` has 55 today; no `tracestate` need be longer."""


def trace_of(headers: Headers) -> bytes:
    r"""Return the trace context in a record's headers as one line each; nothing without a `traceparent`.

    >>> trace_of((("traceparent", b"00-4bf9-00f0-01"), ("source", b"web"), ("tracestate", b"a=1")))
    b'00-4bf9-00f0-01\na=1'
    """
    found: dict[str, bytes] = {}
    for name, value in headers:
        if name in _NAMES and value and len(value) <= _LONGEST and b"\n" not in value:
            found.setdefault(name, value)
    return b"\n".join(found[name] for name in _NAMES if name in found) if PARENT in found else b""


def trace_headers(trace: bytes) -> Headers:
    """Return the headers of a trace context that `trace_of` returned."""
    return tuple(zip(_NAMES, trace.split(b"\n"), strict=False)) if trace else ()
