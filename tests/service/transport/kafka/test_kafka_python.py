"""What can be said of the Kafka adapter without a broker: errors, and what it says when nobody answers."""

from __future__ import annotations

import importlib
import pkgutil
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import kafka
import pytest
from kafka import errors
from kafka.consumer.fetcher import Fetcher
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import KafkaError
from kafka.structs import TopicPartition

from service.errors import (
    AccessRefused,
    ConfigurationError,
    MessageTooLarge,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.transport import open_transport
from service.transport.kafka.errors import HINTS, MEANINGS, GenerationChanged, by_name
from service.transport.kafka.kafka_python.errors import OWN_MEANINGS, meaning_of, translate, translated
from service.transport.kafka.kafka_python.producer import DeadlineProducer
from service.transport.kafka.kafka_python.record_consumer import RecordConsumer
from tests.support.kafka_errors import PROTOCOL

# The packages of kafka-python that this adapter lives in; the others are programs and codecs.
ROOMS = {"admin", "consumer", "coordinator", "errors", "net", "producer"}


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def every_kafka_error() -> Iterator[type[KafkaError]]:
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
BY_NAME = dict.fromkeys(PROTOCOL, TransportError) | by_name(MEANINGS)


def test_every_error_of_kafka_has_a_meaning() -> None:
    for foreign in KAFKA_ERRORS:
        meaning = meaning_of(foreign)
        assert issubclass(meaning, ServiceError), foreign
        if issubclass(foreign, errors.AuthorizationError):
            assert meaning is AccessRefused, foreign
        elif foreign.retriable:
            assert meaning in {TransportUnavailable, TransactionFailed, TopicMissing}, foreign
        elif meaning is TransportUnavailable:
            assert foreign in OWN_MEANINGS or foreign.message in BY_NAME, f"{foreign}: not by accident"


def test_every_error_of_the_protocol_has_its_name_in_the_table() -> None:
    assert [each for each in PROTOCOL_ERRORS if meaning_of(each) is not BY_NAME.get(each.message)] == []


@pytest.mark.parametrize(
    ("foreign", "meaning"),
    [
        (errors.ProducerFencedError(), OwnershipLost),
        (errors.InvalidProducerEpochError(), OwnershipLost),
        (errors.IllegalGenerationError(), GenerationChanged),
        (errors.UnknownMemberIdError(), OwnershipLost),
        (errors.CommitFailedError(), OwnershipLost),
        (errors.OutOfOrderSequenceNumberError(), TransactionFailed),
        (errors.RebalanceInProgressError(), GenerationChanged),
        (errors.KafkaTimeoutError(), TransportUnavailable),
        (errors.KafkaConnectionError(), TransportUnavailable),
        (errors.NotLeaderForPartitionError(), TransportUnavailable),
        (errors.UnknownTopicOrPartitionError(), TopicMissing),
        (errors.MessageSizeTooLargeError(), MessageTooLarge),
        (errors.RecordListTooLargeError(), MessageTooLarge),
        (errors.SaslAuthenticationFailedError(), AccessRefused),
        (errors.TopicAuthorizationFailedError(), AccessRefused),
        (errors.UnsupportedSaslMechanismError(), ConfigurationError),
        (errors.CorruptRecordError(), TransportError),
        (ConnectionResetError("reset"), TransportUnavailable),
        (RuntimeError("closed"), TransportError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_an_error_becomes_what_it_means_to_us(foreign: Exception, meaning: type[ServiceError]) -> None:
    with pytest.raises(ServiceError) as caught, translated("events[3]"):
        raise foreign
    assert type(caught.value) is meaning
    assert str(caught.value).startswith("events[3]: ")
    assert type(foreign).__name__ in str(caught.value)
    assert caught.value.hint == HINTS.get(meaning, "")
    assert caught.value.__cause__ is foreign


def test_the_reason_inside_a_bare_error_decides() -> None:
    wrapped = KafkaError("cannot send", errors.ProducerFencedError())
    assert isinstance(translate(KafkaError(wrapped), "events[0]"), OwnershipLost)


def test_our_own_errors_pass_unchanged() -> None:
    error = TopicMissing("no topic")
    with pytest.raises(TopicMissing) as caught, translated("events[0]"):
        raise error
    assert caught.value is error


def test_a_broker_that_is_away_is_named_within_seconds_and_nothing_is_left_behind(free_port: int) -> None:
    url = f"kafka://127.0.0.1:{free_port}"
    before, began = set(threading.enumerate()), time.monotonic()
    with pytest.raises(TransportUnavailable, match=f"{url} does not answer") as caught:
        open_transport(url)
    assert time.monotonic() - began < 10
    assert "`broker`" in caught.value.hint
    assert set(threading.enumerate()) <= before


def test_a_host_name_without_an_address_is_told_from_a_broker_that_is_away() -> None:
    url = "kafka://no-such-host.invalid:9092"
    with pytest.raises(TransportUnavailable, match=f"{url}: no such host") as caught:
        open_transport(url)
    assert "name server" in caught.value.hint


def test_a_fetch_is_still_decoded_by_what_we_replace() -> None:
    assert "PartitionRecords" in Fetcher._parse_fetched_data.__code__.co_names


def test_the_joins_answer_is_still_kept_where_we_look_for_it() -> None:
    assert "_join_task" in ConsumerCoordinator.join_group_async.__code__.co_names


def test_an_instance_id_that_another_process_has_is_named_with_its_setting() -> None:
    with (
        pytest.raises(ConfigurationError, match="FencedInstanceIdError: another process") as caught,
        translated("events"),
    ):
        raise errors.FencedInstanceIdError
    assert "`kafka.instance_id` of its own" in caught.value.hint


class Observer:
    """A client that learns the leader of a partition only after some questions, as kafka-python's does."""

    def __init__(self, n_failures: int) -> None:
        self.n_failures = n_failures
        self.latest_ends: list[float] = []
        """When each question would have been given up."""

    def end_offsets(self, places: list[TopicPartition], timeout_ms: float) -> dict[TopicPartition, int]:
        self.n_failures -= 1
        self.latest_ends.append(time.monotonic() + timeout_ms / 1000)
        if self.n_failures >= 0:
            raise KeyError(places[0])
        return dict.fromkeys(places, 7)


def test_the_end_of_a_partition_whose_leader_is_not_known_yet_is_asked_for_again() -> None:
    place = TopicPartition("events", 4)
    assert RecordConsumer.ends(Observer(2), [place], 10.0) == {place: 7}


def test_a_partition_that_stays_without_a_leader_is_a_stream_that_does_not_answer() -> None:
    with pytest.raises(TransportUnavailable), translated("kafka://somewhere"):
        RecordConsumer.ends(Observer(1_000_000), [TopicPartition("events", 4)], 0.1)


def test_all_questions_for_the_end_of_a_partition_share_one_timeout() -> None:
    observer, began = Observer(1_000_000), time.monotonic()
    with pytest.raises(TransportUnavailable), translated("kafka://somewhere"):
        RecordConsumer.ends(observer, [TopicPartition("events", 4)], 0.3)
    first, *others = observer.latest_ends
    assert others
    assert max(others) - first < 0.05  # the last question begins at the deadline, not before
    assert first >= began + 0.3


def test_a_codec_that_is_missing_is_refused_with_what_to_install():
    refused = translate(errors.UnsupportedCodecError("Libraries for lz4 compression codec not found"), "here")
    assert type(refused) is TransportError
    assert "pip install lz4" in refused.hint


def test_a_commit_that_gets_no_answer_names_the_brokers_that_are_silent(monkeypatch):
    def silent(*_):
        raise errors.KafkaTimeoutError("no answer to a step of the commit")

    producer = object.__new__(DeadlineProducer)
    producer._closed, producer._transaction_manager = True, None
    producer.config = dict.fromkeys(("client_id", "transactional_id"))
    producer.connections = SimpleNamespace(silent_brokers=lambda: ["127.0.0.1:9093"])
    monkeypatch.setattr(producer, "_transact", silent)
    with pytest.raises(TransportUnavailable, match=r"step of the commit; no answer from 127\.0\.0\.1:9093"):
        producer.transact([], {}, None, deadline=0.0, where="events[0]")
