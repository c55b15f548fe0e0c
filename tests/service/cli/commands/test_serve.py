"""`serve` as a process of its own on SQLite: what it counts, how it starts and how it ends."""

import contextlib
import json
import os
import pkgutil
import signal
import socket

import httpx
import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry

from service.cli.app import cli
from service.cli.commands.serve import _http_server
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.support.perceptron_process import PerceptronProcess
from tests.support.reference_streams import phishing_events, run_bare, sms_events, without_time
from tests.support.speed import patience

pytestmark = pytest.mark.slow
ANY_PORT = {"http": "127.0.0.1:0", "create_topics": "all"}


@pytest.fixture
def stream(broker):
    transport = open_transport(broker)
    yield transport
    transport.close()


@pytest.fixture
def serve(broker, tmp_path):
    """Start `serve` on the test's own stream; whatever is left of it is killed at the end."""
    with contextlib.ExitStack() as stack:

        def start(*arguments, **given):
            settings = {"broker": broker} | ANY_PORT | given
            return stack.enter_context(
                PerceptronProcess("serve", *arguments, folder=tmp_path, settings=settings)
            )

        yield start


def produce(stream, messages):
    stream.ensure_topics({"events": 1})
    stream.produce([Output("events", None, message, partition=0) for message in messages])


def free_port():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        return free.getsockname()[1]


def listens(port):
    with contextlib.closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def predictions(stream):
    return [without_time(json.loads(record.value)) for record in stream.read("predictions", 0)]


@pytest.mark.parametrize(("events", "mistakes"), [(phishing_events, 205), (sms_events, 171)])
def test_metrics_and_predictions_show_the_mistakes_of_the_bare_model(stream, serve, events, mistakes):
    produce(stream, events())
    bare = run_bare(events())
    process = serve().ready()
    process.eventually(lambda: process.metric("perceptron_predictions_total") == len(events()))
    assert process.metric("perceptron_mistakes_total") == bare.model.n_mistakes == mistakes
    assert process.metric("perceptron_updates_total") == bare.model.n_updates
    assert process.metric("perceptron_nonzero_weights") == len(bare.model.weights)
    assert process.metric("perceptron_messages_consumed_total", topic="events") == len(events())
    process.eventually(
        lambda: process.metric("perceptron_consumer_lag_messages", topic="events", partition="0") == 0
    )
    assert predictions(stream) == bare.predictions
    assert process.stop() == 0


@pytest.mark.parametrize("place", ["service.partition.factory.open_stream", "service.loop.runner.Runner.run"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_before_the_loop_starts_ends_it_cleanly(broker, monkeypatch, place, number, code):
    owner, _, name = place.rpartition(".")
    target = pkgutil.resolve_name(owner)
    called = getattr(target, name)

    def interrupted(*args, **kwargs):
        os.kill(os.getpid(), number)
        return called(*args, **kwargs)

    monkeypatch.setattr(target, name, interrupted)
    ended = CliRunner().invoke(cli, ["serve", "--broker", broker, "--http", "", "--create-topics", "all"])
    assert (ended.exit_code, "stopped: 0 events" in ended.stderr) == (code, True)


def test_server_is_ready_only_while_serving(broker, stream, serve):
    stream.ensure_topics({"events": 1})
    states = set()
    process = serve()

    def is_ready():
        response = process.get("/readyz")
        states.add((response.status_code, response.json()["state"]))
        return response.status_code == 200

    process.eventually(is_ready)
    assert states <= {(503, "starting"), (200, "ready")}
    assert process.get("/livez").status_code == 200
    address = process.address
    assert process.stop() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/livez")


def test_service_is_live_but_not_ready_without_the_stream(serve):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        ours = free_port()
        process = serve(broker=f"kafka://127.0.0.1:{silent.getsockname()[1]}", http=f"127.0.0.1:{ours}")
        process.eventually(lambda: listens(ours))
        ready = httpx.get(f"http://127.0.0.1:{ours}/readyz")
        assert (ready.status_code, ready.json()["state"]) == (503, "starting")
        assert httpx.get(f"http://127.0.0.1:{ours}/livez").status_code == 200
        assert process.wait(patience(30)) == 1
        assert "does not answer" in process.stderr


def test_default_stream_is_the_users_file_and_is_reported(serve, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    process = serve("--exit-at-end", broker="")
    assert process.wait() == 0
    (path,) = tmp_path.rglob("stream.db")
    assert f"without --broker, the stream is sqlite:///{path}" in process.stderr


@pytest.mark.parametrize(
    ("given", "is_warned"),
    [({"http": "0.0.0.0:80"}, True), ({"http": "0.0.0.0:80", "http_token": "x"}, False), ({}, False)],
)
def test_unprotected_http_address_gives_a_warning(monkeypatch, caplog, given, is_warned):
    monkeypatch.setattr("service.web.server.http_server", lambda *_: contextlib.nullcontext("here"))
    settings = Settings(**({"http": "127.0.0.1:0"} | given))
    with _http_server(settings, Health(), Metrics(CollectorRegistry()), LiveModels(settings)) as address:
        assert address == "here"
    assert ("http_token" in caplog.text) is is_warned
    assert ("http_hosts" in caplog.text) is is_warned


def test_key_that_hashes_nothing_gives_a_warning(serve):
    started = serve("--exit-at-end", hash_key="0123456789abcdef")
    started.wait()
    assert "hash_key has no effect without hash_bits and events.tenant" in started.stderr
