"""OpenTelemetry spans of batches, with links to the traces of their records.

Nothing is traced, and nothing of OpenTelemetry imported, unless its variables name an exporter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from service.errors import ConfigurationError
from service.messages.trace import trace_headers, trace_of
from service.settings.load import Settings
from service.stream import Record

if TYPE_CHECKING:
    from opentelemetry.trace import Link, Tracer

_EXPORTERS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_MOST_LINKS: Final = 128
"""Of a span: what OpenTelemetry keeps of them by default."""

Span = AbstractContextManager[object]


class BatchTracer:
    """Makes a span for each batch of one process; none where there is no tracer."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer

    @property
    def is_tracing(self) -> bool:
        """Whether spans are made."""
        return self._tracer is not None

    def span(self, records: Sequence[Record], settings: Settings, partition: int) -> Span:
        """Return the span of a batch, from its first record read to its commit; linked to their traces."""
        return nullcontext() if self._tracer is None else _span(self._tracer, records, settings, partition)


NO_TRACER: Final = BatchTracer()


def make_tracer(environment: Mapping[str, str] = os.environ) -> BatchTracer:
    """Make the tracer that the OTEL_ variables of the environment describe.

    Raises
    ------
    ConfigurationError
        They name an exporter, and the `otel` extra is not installed.

    """
    named = [name for name in _EXPORTERS if environment.get(name)]
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or not named or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return NO_TRACER
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an extra
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            f"{named[0]} is set, but OpenTelemetry is not installed: {error}",
            hint="pip install 'online-perceptron[otel]', or unset the variable",
        ) from None
    name = environment.get("OTEL_SERVICE_NAME") or "online-perceptron"
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return BatchTracer(provider.get_tracer("online-perceptron"))


@contextmanager
def _span(tracer: Tracer, records: Sequence[Record], settings: Settings, partition: int) -> Iterator[object]:
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra

    with tracer.start_as_current_span(
        f"process {settings.events_topic}",
        kind=SpanKind.CONSUMER,
        links=_links(records),
        attributes=_attributes(records, settings, partition),
    ) as span:
        yield span


def _attributes(records: Sequence[Record], settings: Settings, partition: int) -> dict[str, Any]:
    """Describe a batch by OpenTelemetry's conventions for messaging."""
    return {
        "messaging.system": settings.broker_url.partition(":")[0],
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": settings.events_topic,
        "messaging.destination.partition.id": str(partition),
        "messaging.consumer.group.name": settings.group,
        "messaging.batch.message_count": len(records),
    }


def _links(records: Sequence[Record]) -> list[Link]:
    """Return links to the traces that the records belong to, each once."""
    from opentelemetry.trace import Link, get_current_span  # noqa: PLC0415 - an extra
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
        TraceContextTextMapPropagator,
    )

    propagator, found = TraceContextTextMapPropagator(), []
    traces = dict.fromkeys(
        trace for record in records if record.headers and (trace := trace_of(record.headers))
    )
    for trace in islice(traces, _MOST_LINKS):
        carrier = {name: value.decode("latin-1") for name, value in trace_headers(trace)}
        context = get_current_span(propagator.extract(carrier)).get_span_context()
        if context.is_valid:
            found.append(Link(context))
    return found
