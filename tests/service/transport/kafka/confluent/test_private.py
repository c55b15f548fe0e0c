import confluent_kafka
import pytest
from confluent_kafka import Consumer, Producer

from service.errors import ConfigurationError
from service.transport.kafka.confluent import private
from service.transport.kafka.confluent.fetch_queue import open_fetch_queue
from service.transport.kafka.confluent.output_sender import open_output_sender
from service.transport.kafka.confluent.private import READING, WRITING, Part, check, entry_points
from service.transport.kafka.published import PUBLISHED_ONLY


@pytest.fixture(scope="module")
def producer():
    return Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})


@pytest.fixture(scope="module")
def consumer():
    client = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "readers", "log_level": 0})
    yield client
    client.close()


@pytest.fixture(autouse=True)
def reported(monkeypatch):
    """Collect what the published way is taken for, and why."""
    found = []
    monkeypatch.setattr(private, "report_published_way", lambda *words: found.append(words))
    return found


def test_the_installed_release_was_tested(consumer, producer, reported):
    """Another one fails here; then messages come and go as objects."""
    assert len(entry_points(consumer, READING)) == 1 + len(READING.functions)
    assert len(entry_points(producer, WRITING)) == 1 + len(WRITING.functions)
    assert reported == []


@pytest.mark.parametrize(
    "releases",
    [("2.16.2", "2.16.0"), ("2.16.1", "2.16.1"), ("2.17.0", "2.17.0"), ("2.16.1+x", "2.16.0")],
    ids="-".join,
)
def test_in_a_release_that_was_not_tested_no_handle_is_looked_for(
    consumer, producer, monkeypatch, reported, releases
):
    release, library_release = releases
    monkeypatch.setattr(confluent_kafka, "__version__", release)
    monkeypatch.setattr(private, "libversion", lambda: (library_release, 0))
    monkeypatch.setattr(private, "_handle", pytest.fail)
    assert open_fetch_queue(consumer) is None
    assert open_output_sender(producer) is None
    why = f"release {release} with librdkafka {library_release} was not tested"
    assert reported == [
        (f"confluent-kafka {release}", part, why) for part in ("reading records", "writing records")
    ]


def test_none_is_looked_for_where_the_published_way_is_forced(consumer, producer, monkeypatch, reported):
    monkeypatch.setenv(PUBLISHED_ONLY, "1")
    monkeypatch.setattr(private, "_handle", pytest.fail)
    assert open_fetch_queue(consumer) is None
    assert open_output_sender(producer) is None
    assert [why for *_, why in reported] == [f"{PUBLISHED_ONLY} is set"] * 2


def test_a_library_without_one_of_the_functions_is_used_in_the_published_way(consumer, reported):
    assert entry_points(consumer, Part("reading", ("rd_kafka_name", "rd_kafka_no_such_function"))) is None
    ((*_, why),) = reported
    assert "rd_kafka_no_such_function" in why


def test_what_is_no_client_has_no_handle():
    assert entry_points(object(), READING) is None


def test_a_client_whose_first_field_is_something_else_has_no_handle(consumer, monkeypatch):
    monkeypatch.setattr(private, "_KINDS", {Consumer: b"#producer-"})
    assert entry_points(consumer, READING) is None


@pytest.mark.parametrize("release", ["1.9.2", "2.10.1"])
def test_a_release_that_is_too_old_is_refused_with_those_that_were_tested(monkeypatch, release):
    monkeypatch.setattr(confluent_kafka, "__version__", release)
    with pytest.raises(
        ConfigurationError, match=f"{release} cannot be used: it is older than 2.11"
    ) as refusal:
        check()
    assert "pip install confluent-kafka==2.16.1" in refusal.value.hint


@pytest.mark.parametrize("release", ["2.11.0", "2.16.1", "2.17.0rc1", "3.0.0"])
def test_a_release_that_is_new_enough_is_not_refused(monkeypatch, release):
    monkeypatch.setattr(confluent_kafka, "__version__", release)
    check()
