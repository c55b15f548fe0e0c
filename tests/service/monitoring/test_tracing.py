"""A span for each batch, linked to the traces of its records; nothing at all unless it is asked for."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from prometheus_client import CollectorRegistry

from service.errors import ConfigurationError
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.monitoring.tracing import NO_TRACER, BatchTracer, make_tracer
from service.stream import Output, Record
from service.transport import open_transport
from tests.service.building import event, settings

TRACES = [f"00-{number:032x}-{number:016x}-01".encode() for number in (7, 8)]


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return BatchTracer(provider.get_tracer("test"))


def record(offset, *headers):
    return Record("events", 0, offset, 0, None, b"{}", headers)


def test_a_batch_of_the_loop_is_one_span_linked_to_the_traces_of_its_events(tracer, exporter):
    transport = open_transport("memory://tracing")
    transport.ensure_topics({"events": 1})
    sent = [
        Output("events", None, json.dumps(event(str(n))).encode(), (("traceparent", TRACES[n]),))
        for n in (0, 1)
    ]
    transport.produce(sent)
    given = settings(labels_topic="", group="traced")
    Runner(transport, given, metrics=Metrics(CollectorRegistry()), health=Health(), tracer=tracer).run(
        exit_at_end=True
    )
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("process events", SpanKind.CONSUMER)
    assert [link.context.trace_id for link in span.links] == [7, 8]
    assert span.attributes["messaging.batch.message_count"] == 2
    assert span.attributes["messaging.consumer.group.name"] == "traced"


def test_a_trace_of_several_records_is_one_link(tracer, exporter):
    header = ("traceparent", TRACES[0])
    with tracer.span([record(0, header), record(1, header), record(2)], settings(), 0):
        pass
    assert len(exporter.get_finished_spans()[0].links) == 1


def test_a_header_that_is_no_trace_context_is_no_link(tracer, exporter):
    with tracer.span([record(0, ("traceparent", b"\xff junk"))], settings(), 0):
        pass
    assert exporter.get_finished_spans()[0].links == ()


def test_no_span_has_more_links_than_opentelemetry_keeps(tracer, exporter):
    traces = [f"00-{number:032x}-{number:016x}-01".encode() for number in range(1, 300)]
    with tracer.span([record(n, ("traceparent", each)) for n, each in enumerate(traces)], settings(), 0):
        pass
    assert len(exporter.get_finished_spans()[0].links) == 128


def test_an_error_in_a_batch_is_in_its_span(tracer, exporter):
    with pytest.raises(ZeroDivisionError), tracer.span([record(0)], settings(), 0):
        raise ZeroDivisionError
    assert exporter.get_finished_spans()[0].events[0].name == "exception"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_without_an_exporter_nothing_is_traced(environment):
    assert make_tracer(environment) is NO_TRACER


def test_an_exporter_without_the_extra_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigurationError, match="OTEL_EXPORTER_OTLP_ENDPOINT") as refused:
        make_tracer({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert "otel" in refused.value.hint


def test_spans_are_sent_to_the_endpoint(monkeypatch):
    paths, came = [], threading.Event()

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            came.set()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        with make_tracer().span([record(0)], settings(), 0):
            pass
        assert came.wait(30)
    finally:
        server.shutdown()
        server.server_close()
    assert paths == ["/v1/traces"]
