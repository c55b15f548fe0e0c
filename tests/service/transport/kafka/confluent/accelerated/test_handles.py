import confluent_kafka
import pytest
from confluent_kafka import Consumer, Producer

from service.transport.kafka import published
from service.transport.kafka.confluent.release import RELEASE

pytest.importorskip("service.transport.kafka.confluent.accelerated.librdkafka", reason="it is compiled")

from service.transport.kafka.confluent.accelerated import handles
from service.transport.kafka.confluent.accelerated.handles import (
    FUNCTIONS,
    TESTED,
    entry_points,
    reason_against,
)


@pytest.fixture(scope="module")
def producer():
    return Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})


@pytest.fixture(scope="module")
def consumer():
    client = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "readers", "log_level": 0})
    yield client
    client.close()


@pytest.fixture
def reported(caplog):
    published.report_published_way.cache_clear()
    yield caplog
    published.report_published_way.cache_clear()


def test_the_installed_release_was_tested(consumer, producer):
    """Another one fails here; then messages come and go as objects."""
    assert reason_against() is None
    for client in (consumer, producer):
        assert len(entry_points(client)) == 1 + len(FUNCTIONS)


def test_the_newest_of_them_is_what_is_recommended():
    assert RELEASE.tested in {release for release, _ in TESTED}


@pytest.mark.parametrize(
    "releases",
    [("2.16.2", "2.16.0"), ("2.16.1", "2.16.1"), ("2.17.0", "2.17.0"), ("2.16.1+x", "2.16.0")],
    ids="-".join,
)
def test_a_release_that_was_not_tested_does_not_fit(monkeypatch, releases):
    release, library_release = releases
    monkeypatch.setattr(confluent_kafka, "__version__", release)
    monkeypatch.setattr(handles, "libversion", lambda: (library_release, 0))
    assert reason_against() == f"release {release} with librdkafka {library_release} was not tested"


def test_a_library_without_one_of_the_functions_does_not_fit(monkeypatch):
    monkeypatch.setattr(handles, "FUNCTIONS", ["rd_kafka_name", "rd_kafka_no_such_function"])
    assert "rd_kafka_no_such_function" in reason_against()


def test_what_is_no_client_has_no_handle(reported):
    assert entry_points(object()) is None
    assert "has no handle where it is looked for" in reported.text


def test_a_client_whose_first_field_is_something_else_has_no_handle(consumer, monkeypatch):
    monkeypatch.setattr(handles, "_KINDS", {Consumer: b"#producer-"})
    assert entry_points(consumer) is None
