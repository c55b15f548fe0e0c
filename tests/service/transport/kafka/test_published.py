import sys
from functools import partial

import kafka
import pytest
from kafka.consumer.fetcher import Fetcher
from kafka.record.memory_records import MemoryRecordsBuilder

from service.errors import ConfigurationError
from service.transport.kafka import published
from service.transport.kafka.confluent.cluster import ConfluentCluster
from service.transport.kafka.confluent.consumer import ConfluentConsumer
from service.transport.kafka.confluent.producer import BulkProducer
from service.transport.kafka.confluent.release import RELEASE as CONFLUENT
from service.transport.kafka.kafka_python import cluster as kafka_python
from service.transport.kafka.kafka_python.private import RELEASE as KAFKA_PYTHON
from service.transport.kafka.limits import ClientOptions, TopicLimits

RELEASES = pytest.mark.parametrize("release", [KAFKA_PYTHON, CONFLUENT], ids=lambda each: each.name)
OPTIONS = ClientOptions(10.0, None, 60.0, 30.0, TopicLimits())


@pytest.fixture(autouse=True)
def tried_anew(monkeypatch):
    """Let the folders be looked for again, before and after."""
    monkeypatch.delenv(published.PUBLISHED_ONLY, raising=False)
    caches = [published._accelerated, published.report_published_way]
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@pytest.fixture
def without_folders(monkeypatch):
    """Delete what is in the folders `accelerated`, as far as imports can tell."""
    for adapter in (KAFKA_PYTHON.adapter, CONFLUENT.adapter):
        folder = f"{adapter}.accelerated"
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{folder}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, folder, None)


@pytest.fixture
def cluster(monkeypatch):
    """A cluster of which no broker answers."""
    monkeypatch.setattr(ConfluentCluster, "_greet", lambda *_: None)
    cluster = ConfluentCluster(["127.0.0.1:1"], {})
    yield cluster
    cluster.close()


def opened(cluster):
    """Return the classes of a member and a producer."""
    member = cluster.member(cluster, "group", ["events"], None, OPTIONS, lambda _: None)
    producer = cluster.open_producer(OPTIONS, transactional_id="events-0")
    producer.drop()
    member.close()
    return type(member), type(producer)


@RELEASES
def test_without_its_folder_a_client_is_used_as_it_is_published(release, without_folders, caplog):
    assert release.accelerated() is None
    assert not caplog.messages


def test_without_the_folder_confluent_kafka_opens_what_is_published(without_folders, cluster):
    assert opened(cluster) == (ConfluentConsumer, BulkProducer)


def test_without_the_folder_kafka_python_opens_what_is_published(without_folders, monkeypatch):
    made = []

    def make(kind, **options):
        made.append(kind)
        connections = options["kafka_client"](bootstrap_servers="127.0.0.1:1")
        made.append(type(connections))
        connections.close()
        return kind

    monkeypatch.setattr(kafka_python, "KafkaAdminClient", partial(make, kafka_python.Connections))
    cluster = kafka_python.KafkaPythonCluster(["127.0.0.1:1"], {})
    assert cluster._classes is kafka_python._PUBLISHED
    assert set(made) == {kafka_python.Connections}


@RELEASES
def test_with_its_folder_each_class_has_a_faster_form(release):
    found = release.accelerated()
    if found is None:
        pytest.skip("it is not compiled")
    slow = kafka_python._PUBLISHED if release is KAFKA_PYTHON else None
    for name in ("Connections", "RecordConsumer", "Producer") if slow else ():
        assert issubclass(getattr(found, name), getattr(slow, name))


@RELEASES
@pytest.mark.parametrize(("given", "forced"), [("", False), ("0", False), ("1", True)])
def test_the_published_way_is_forced_by_a_variable(release, monkeypatch, caplog, given, forced):
    monkeypatch.setenv(published.PUBLISHED_ONLY, given)
    published.report_published_way.cache_clear()
    found = [release.accelerated() for _ in range(3)]
    assert (
        caplog.messages
        == [f"{release} is used as it is published, which is slower: {published.PUBLISHED_ONLY} is set"]
        * forced
    )
    assert not (forced and any(found))


def lacking(monkeypatch):
    monkeypatch.delattr(Fetcher, "PartitionRecords")
    return "kafka.consumer.fetcher.Fetcher.PartitionRecords is gone"


def built_otherwise(monkeypatch):
    monkeypatch.setattr(MemoryRecordsBuilder, "__init__", lambda _, *, magic: None)
    return "a trial of its batches fails: TypeError"


@pytest.mark.parametrize("changed", [lacking, built_otherwise])
def test_a_changed_release_is_used_as_it_is_published(monkeypatch, caplog, changed):
    if KAFKA_PYTHON.accelerated() is None:
        pytest.skip("it is not compiled")
    published._accelerated.cache_clear()
    reason = changed(monkeypatch)
    assert [KAFKA_PYTHON.accelerated() for _ in range(2)] == [None, None]
    (message,) = caplog.messages
    assert reason in message


def test_a_release_that_is_too_old_is_refused(monkeypatch):
    monkeypatch.setattr(kafka, "__version__", "3.0.11")
    with pytest.raises(
        ConfigurationError, match=f"3.0.11 cannot be used: it is older than {KAFKA_PYTHON.oldest}"
    ):
        KAFKA_PYTHON.check()
