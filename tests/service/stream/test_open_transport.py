from __future__ import annotations

import socket
import sys
import threading

import pytest

from service.errors import ConfigurationError, TransportError, TransportUnavailable
from service.stream.kafka.cluster import RELEASES
from service.stream.opening import open_transport
from tests.support.kafka_site import KAFKA_CLIENTS


@pytest.mark.parametrize("place", ["here.db", "~/here.db"])
def test_file_is_relative_to_the_working_directory_or_home(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    open_transport(f"sqlite:///{place}").close()
    assert (tmp_path / "here.db").is_file()


@pytest.mark.parametrize("client", KAFKA_CLIENTS)
def test_each_client_gets_its_servers_and_options(monkeypatch, client):
    made = []
    adapter = f"service.stream.kafka.{client.replace('-', '_')}.cluster"
    monkeypatch.setattr(f"{adapter}.{RELEASES[client].cluster}", lambda *given: made.append(given))
    open_transport(
        "kafka://one:9092,[::1]:19092", kafka={"client_options": {"client_id": "me"}}, kafka_client=client
    )
    assert made == [(["one:9092", "[::1]:19092"], {"client_id": "me"})]


@pytest.mark.parametrize("client", KAFKA_CLIENTS)
def test_unavailable_broker_is_named_and_no_thread_remains(client):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"kafka://127.0.0.1:{server.getsockname()[1]}"
    before = set(threading.enumerate())
    with pytest.raises(TransportUnavailable, match=f"{url} .*does not answer") as caught:
        open_transport(url, kafka_client=client)
    assert "`broker`" in caught.value.hint
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("client", KAFKA_CLIENTS)
def test_unknown_host_name_differs_from_unavailable_broker(client):
    url = "kafka://no-such-host.invalid:9092"
    with pytest.raises(TransportUnavailable, match=f"{url}: unknown host") as caught:
        open_transport(url, kafka_client=client)
    assert "DNS" in caught.value.hint


def test_without_the_confluent_package_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("service.stream.kafka.confluent")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigurationError, match="confluent-kafka, which is not installed") as rejected:
        open_transport("kafka://one:9092", kafka_client="confluent")
    assert "pip install 'online-perceptron[confluent]'" in rejected.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "stream.db",
        "memory",
        "sqlite://stream.db",
        "sqlite:///",
        "sqlite:///folder/",
        "kafka://",
        "kafka://host",
        "kafka://host:port",
        "kafka://host:0",
        "kafka://host:70000",
        "kafka://one:9092,",
        "kafka://one:9092/topic",
        "redis://host:1",
    ],
)
def test_unknown_address_is_rejected_with_the_valid_forms(url):
    with pytest.raises(ConfigurationError, match="broker") as rejected:
        open_transport(url)
    assert all(form in rejected.value.hint for form in ("kafka://", "sqlite:///", "memory://"))


@pytest.mark.parametrize("files", [[], ["stream.db"]], ids=["missing", "empty"])
def test_opening_to_read_creates_no_stream(tmp_path, files):
    for each in files:
        (tmp_path / each).touch()
    with pytest.raises(TransportError, match="no stream found"):
        open_transport(f"sqlite:///{tmp_path}/stream.db", create=False)
    assert {each.name: each.stat().st_size for each in tmp_path.iterdir()} == dict.fromkeys(files, 0)
