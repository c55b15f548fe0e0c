"""What can be said of the Kafka adapter without a broker: errors, and what it says when no one answers."""

from __future__ import annotations

import importlib
import pkgutil
import socket
import time
from contextlib import closing, nullcontext
from types import SimpleNamespace

import kafka
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import KafkaConsumer, KafkaProducer, errors
from kafka.consumer.fetcher import Fetcher
from kafka.consumer.subscription_state import SubscriptionState
from kafka.errors import KafkaError
from kafka.partitioner.default import murmur2
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import TransactionManager
from kafka.record import MemoryRecords, MemoryRecordsBuilder
from kafka.structs import TopicPartition

from service.errors import (
    AccessDenied,
    ConfigurationError,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.stream.kafka.errors import HINTS, GenerationChanged, meanings
from service.stream.kafka.kafka_python import consumer as adapter
from service.stream.kafka.kafka_python import private
from service.stream.kafka.kafka_python.consumer import RecordConsumer
from service.stream.kafka.kafka_python.errors import OWN_MEANINGS, meaning_of, translate, translated
from service.stream.kafka.kafka_python.producer import DeadlineProducer
from service.stream.partitioner import partition_for_key
from service.stream.protocol import Output, Record

# The packages of kafka-python that this adapter lives in; the others are programs and codecs.
ROOMS = {"admin", "consumer", "coordinator", "errors", "net", "producer"}


def every_kafka_error():
    for module in pkgutil.walk_packages(kafka.__path__, "kafka."):
        if not module.name.endswith("__main__") and module.name.split(".")[1] in ROOMS:
            importlib.import_module(module.name)
    waiting = [KafkaError]
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        yield error


KAFKA_ERRORS = sorted(set(every_kafka_error()), key=lambda error: error.__name__)
PROTOCOL_ERRORS = [each for each in KAFKA_ERRORS if isinstance(getattr(each, "errno", None), int)]
BY_NAME = meanings("protocol")


def test_every_error_of_kafka_has_a_meaning():
    for foreign in KAFKA_ERRORS:
        meaning = meaning_of(foreign)
        assert issubclass(meaning, ServiceError), foreign
        if issubclass(foreign, errors.AuthorizationError):
            assert meaning is AccessDenied, foreign
        elif foreign.retriable:
            assert meaning in {TransportUnavailable, TransactionFailed, TopicMissing}, foreign
        elif meaning is TransportUnavailable:
            assert foreign in OWN_MEANINGS or foreign.message in BY_NAME, f"{foreign}: not by accident"


def test_every_error_of_the_protocol_is_in_the_table():
    assert [each for each in PROTOCOL_ERRORS if meaning_of(each) is not BY_NAME.get(each.message)] == []


@pytest.mark.parametrize(
    ("foreign", "meaning"),
    [
        (errors.ProducerFencedError(), OwnershipLost),
        (errors.IllegalGenerationError(), GenerationChanged),
        (errors.KafkaTimeoutError(), TransportUnavailable),
        (errors.UnsupportedSaslMechanismError(), ConfigurationError),
        (ConnectionResetError("reset"), TransportUnavailable),
        (RuntimeError("closed"), TransportError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_client_errors_map_to_service_errors(foreign, meaning):
    with pytest.raises(ServiceError) as caught, translated("events[3]"):
        raise foreign
    assert type(caught.value) is meaning
    assert str(caught.value).startswith("events[3]: ")
    assert type(foreign).__name__ in str(caught.value)
    assert caught.value.hint == HINTS.get(meaning, "")
    assert caught.value.__cause__ is foreign


def test_cause_of_a_generic_error_decides_its_class():
    wrapped = KafkaError("cannot send", errors.ProducerFencedError())
    assert isinstance(translate(KafkaError(wrapped), "events[0]"), OwnershipLost)


class Observer:
    """A client that learns the leader of a partition only after some questions, as kafka-python's does."""

    def __init__(self, n_failures):
        self.n_failures = n_failures
        self.latest_ends = []
        """When each question would have been given up."""

    def end_offsets(self, places, timeout_ms):
        self.n_failures -= 1
        self.latest_ends.append(time.monotonic() + timeout_ms / 1000)
        if self.n_failures >= 0:
            raise KeyError(places[0])
        return dict.fromkeys(places, 7)


def test_end_offset_is_requested_until_the_leader_is_known():
    partition = TopicPartition("events", 4)
    assert RecordConsumer.ends(Observer(2), [partition], 10.0) == {partition: 7}


def test_all_requests_for_an_end_share_one_timeout():
    observer, began = Observer(1_000_000), time.monotonic()
    with pytest.raises(TransportUnavailable), translated("kafka://somewhere"):
        RecordConsumer.ends(observer, [TopicPartition("events", 4)], 0.3)
    first, *others = observer.latest_ends
    assert others
    assert max(others) - first < 0.25  # the last question begins at the deadline, not before
    assert first >= began + 0.3


def test_missing_codec_is_rejected_with_its_package():
    rejected = translate(
        errors.UnsupportedCodecError("Libraries for lz4 compression codec not found"), "here"
    )
    assert type(rejected) is TransportError
    assert "pip install lz4" in rejected.hint


class Acknowledged:
    """The future of a record that has arrived."""

    def get(self, timeout):
        assert timeout > 0


@pytest.fixture
def producer(monkeypatch):
    """Return a producer of a topic with four partitions, which keeps what it is given to send."""
    made = object.__new__(DeadlineProducer)
    made._closed = True
    made.config = {"client_id": None, "transactional_id": "process"}
    made.n_ended = lambda: 0
    made.given = []
    monkeypatch.setattr(KafkaProducer, "partitions_for", lambda *_: range(4))
    monkeypatch.setattr(KafkaProducer, "flush", lambda *_: None)
    monkeypatch.setattr(KafkaProducer, "send", lambda *given: made.given.append(given[1:]) or Acknowledged())
    return made


def test_partition_beyond_the_topics_count_is_an_error(producer):
    with pytest.raises(errors.StaleMetadata, match="events: partition 4 does not exist yet"):
        producer.send_outputs([Output("events", b"key", b"value", partition=4)], 0.0)


def test_failed_transaction_asks_for_a_new_producer(producer, monkeypatch):
    def reject(*_):
        raise errors.IllegalGenerationError

    monkeypatch.setattr(producer, "_transact", reject, raising=False)
    assert not producer.needs_replacement
    with pytest.raises(GenerationChanged):
        producer.transact([], {}, None, deadline=0.0, where="events[0]")
    assert producer.needs_replacement


@pytest.fixture
def consumer(monkeypatch):
    """Return one without its client."""
    monkeypatch.setattr(adapter, "deliver_resumed", lambda _: None)
    return object.__new__(RecordConsumer)


def test_clients_own_records_become_a_batch(consumer, monkeypatch):
    partition = TopicPartition("events", 3)
    found = SimpleNamespace(timestamp=None, offset=7, key=b"key", value=b"value", headers=[("name", None)])
    monkeypatch.setattr(KafkaConsumer, "poll", lambda *_, **__: {partition: [found]})
    batch = consumer.fetched(10, 0)[partition]
    assert list(batch) == [Record("events", 3, 7, -1, b"key", b"value", (("name", b""),))]


@pytest.mark.parametrize(
    ("error", "is_asked_again"),
    [(errors.CorruptRecordError("crc"), False), (errors.KafkaTimeoutError(), True)],
)
def test_client_call_is_retried_unless_it_would_block(consumer, monkeypatch, error, is_asked_again):
    responses = iter([error, KeyError("asked")])

    def poll(*_, **__):
        raise next(responses)

    monkeypatch.setattr(KafkaConsumer, "poll", poll)
    with pytest.raises(type(error)):
        consumer.fetched(10, 0)
    with pytest.raises(KeyError if is_asked_again else type(error)):
        consumer.fetched(10, 0)


@given(st.binary(), st.integers(1, 1000))
def test_key_has_the_partition_that_kafka_python_chooses(key, partitions):
    assert partition_for_key(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions


@given(st.integers(1, 1000))
def test_record_without_a_key_goes_to_partition_0(partitions):
    assert partition_for_key(None, partitions) == 0


def test_request_to_lost_coordinator_stays_pending():
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = "{}:{}".format(*server.getsockname())
    with closing(KafkaProducer.DEFAULT_CONFIG["kafka_client"](bootstrap_servers=gone)) as client:
        private.keep_unsent_requests(client)
        transactions = TransactionManager(transactional_id="process")
        transactions._transaction_coordinator = client.cluster.bootstrap_brokers()[0].node_id
        wanted = transactions.initialize_transactions()
        sender = Sender(client, client.cluster, RecordAccumulator(), transaction_manager=transactions)
        sender._maybe_send_pending_request()
        assert wanted in [request.result for *_, request in transactions._pending_requests]


def test_records_of_a_resumed_partition_are_delivered(monkeypatch):
    partition, subscriptions = TopicPartition("events", 0), SubscriptionState()
    subscriptions.assign_from_user([partition])
    subscriptions.seek(partition, 0)
    with closing(KafkaConsumer.DEFAULT_CONFIG["kafka_client"](bootstrap_servers="127.0.0.1:9")) as client:
        fetcher = Fetcher(client, subscriptions)
        exhausted, parked = (
            fetcher.PartitionRecords(0, partition, in_memory(value)) for value in (b"a", b"b")
        )
        exhausted.drain()
        fetcher._next_partition_records, fetcher._paused_partition_records = exhausted, {partition: parked}
        consumer = object.__new__(RecordConsumer)
        consumer._fetcher = fetcher
        monkeypatch.setattr(KafkaConsumer, "poll", lambda *_, **__: fetcher.fetched_records(10)[0])
        assert [each.value for each in consumer.fetched(10, 0)[partition]] == [b"b"]


def in_memory(value):
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1000)
    builder.append(None, None, value)
    builder.close()
    return MemoryRecords(builder.buffer())


def test_join_that_has_begun_is_resumed_before_the_next_poll():
    asked, coordinator = [], SimpleNamespace(rejoin_needed=False)
    leading = SimpleNamespace(
        _coordinator=coordinator, fetched=lambda *_: asked.append(coordinator.rejoin_needed) or {}
    )
    member = object.__new__(adapter.KafkaPythonConsumer)
    vars(member).update(_leading=leading, _clients=[leading], _membership=SimpleNamespace(is_stable=False))
    vars(member).update(_ask_again_at=0.0, _shared_wait_seconds=0.0, _options=SimpleNamespace(owner_topic=""))
    member._undelivered = SimpleNamespace(n_free=lambda most: most)
    member._poll_each(0.0, 10)
    assert asked == [True]


@pytest.mark.parametrize(
    ("error", "is_ignored"),
    [
        (errors.InconsistentGroupProtocolError("SyncGroupResponse protocol_name x"), True),
        (errors.InconsistentGroupProtocolError("another"), False),
        (ValueError("invalid assignment protocol: None"), True),
        (ValueError("another"), False),
    ],
    ids=str,
)
def test_join_ignores_only_errors_of_an_ended_generation(error, is_ignored):
    member = object.__new__(adapter.KafkaPythonMembership)
    with nullcontext() if is_ignored else pytest.raises(type(error)), member.joined_anew():
        raise error


def test_new_partitions_are_paused_at_a_position():
    consumer, partition = object.__new__(RecordConsumer), TopicPartition("events", 0)
    consumer._subscription = SubscriptionState()
    consumer._subscription.assign_from_user([partition])
    consumer.assign_paused([partition])
    assert consumer.paused() == {partition}
    assert consumer._subscription.position(partition).offset == 0


def test_a_topic_without_known_partitions_is_an_error(monkeypatch):
    monkeypatch.setattr(KafkaConsumer, "partitions_for_topic", lambda *_: None)
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        object.__new__(RecordConsumer).learn_topics(["events"])


@pytest.mark.parametrize("need", [private.deliver_resumed, private.resume_join])
def test_kafka_python_without_a_private_name_gives_a_warning(need, caplog):
    need(SimpleNamespace())
    need(SimpleNamespace())
    assert caplog.text.count("presumably does that itself") == 1


def test_kafka_python_with_hidden_connections_gets_a_producer_per_transaction(caplog):
    n_ended = private.count_ended_connections(SimpleNamespace(_manager=SimpleNamespace()))
    assert n_ended() != n_ended()
    assert "get_connection" in caplog.text


def test_kafka_python_that_may_lose_commits_is_rejected_by_name():
    with pytest.raises(ConfigurationError, match=r"kafka-python .* cannot be used: .*producer_id_and_epoch"):
        private.producer_epoch(SimpleNamespace(_transaction_manager=SimpleNamespace()))
