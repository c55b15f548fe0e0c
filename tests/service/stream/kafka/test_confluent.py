"""What can be said of the adapter on confluent-kafka without a broker: errors, records, options, silence."""

from __future__ import annotations

import math
import socket
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import UnknownError, for_code

from service.errors import (
    AccessRefused,
    MessageTooLarge,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.settings.kafka import KafkaSettings
from service.stream.kafka.confluent import producer, questions
from service.stream.kafka.confluent.consumer import ConfluentConsumer
from service.stream.kafka.confluent.errors import (
    _CALLED,
    MEANING_OF,
    OWN_MEANINGS,
    meaning_of,
    translated,
)
from service.stream.kafka.confluent.messages import as_record, consume
from service.stream.kafka.confluent.questions import Questions
from service.stream.kafka.errors import HINTS, MEANINGS, GenerationChanged
from service.stream.kafka.kafka_python.errors import meaning_of as meaning_for_kafka_python
from service.stream.kafka.limits import ClientOptions
from service.stream.opening import open_transport
from service.stream.protocol import Output, Record
from tests.support.kafka_errors import LIBRDKAFKA, PROTOCOL

CODES = {name: code for name, code in vars(KafkaError).items() if isinstance(code, int)}
PROTOCOL_CODES = {
    name: code for name, code in CODES.items() if code > 0 and for_code(code) is not UnknownError
}


def test_every_error_of_librdkafka_has_a_meaning():
    others = {_CALLED.get(each, each) for each in PROTOCOL | LIBRDKAFKA}
    assert [name for name, code in CODES.items() if (code in MEANING_OF) is (name in others)] == []


def test_no_error_has_two_meanings():
    names = [name for each in (MEANINGS, OWN_MEANINGS) for names in each.values() for name in names.split()]
    names += [*PROTOCOL, *LIBRDKAFKA]
    assert len(names) == len(set(names))


def test_an_error_of_the_protocol_means_the_same_whichever_client_tells_it():
    for name, code in PROTOCOL_CODES.items():
        assert meaning_of(KafkaError(code)) is meaning_for_kafka_python(for_code(code)), name


@pytest.mark.parametrize(
    ("foreign", "meaning"),
    [
        (KafkaException(KafkaError(KafkaError._FENCED)), OwnershipLost),
        (KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)), TransportUnavailable),
        (KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC)), TopicMissing),
        (KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)), MessageTooLarge),
        (KafkaException(KafkaError(KafkaError._AUTHENTICATION)), AccessRefused),
        (KafkaException(KafkaError(KafkaError._STATE)), TransportError),
        (BufferError("full"), TransportUnavailable),
        (RuntimeError("closed"), TransportError),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_an_error_becomes_what_it_means_to_us(foreign, meaning):
    with pytest.raises(ServiceError) as caught, translated("events[3]"):
        raise foreign
    assert type(caught.value) is meaning
    assert str(caught.value).startswith("events[3]: ")
    assert caught.value.hint == HINTS.get(meaning, "")
    assert caught.value.__cause__ is foreign


def test_a_fatal_error_that_a_callback_has_covered_up_is_found():
    fenced = KafkaException(KafkaError(KafkaError._FENCED, "by a newer instance", fatal=True))
    covered = SystemError("<method> returned a result with an exception set")
    covered.__cause__ = fenced
    with pytest.raises(OwnershipLost, match="by a newer instance"), translated("events[0]"):
        raise covered


def test_of_an_error_without_a_meaning_its_flags_decide():
    unknown = 9999
    assert meaning_of(KafkaError(unknown)) is TransportError
    assert meaning_of(KafkaError(unknown, retriable=True)) is TransportUnavailable
    assert meaning_of(KafkaError(unknown, txn_requires_abort=True)) is TransactionFailed


# Messages


class Found:
    """A message as librdkafka gives it."""

    def __init__(self, *, headers=None, key=b"k", value=b"v"):
        self._headers, self._key, self._value = headers, key, value

    def topic(self):
        return "events"

    def partition(self):
        return 3

    def offset(self):
        return 7

    def timestamp(self):
        return (1, 1234)

    def key(self):
        return self._key

    def value(self):
        return self._value

    def headers(self):
        if isinstance(self._headers, Exception):
            raise self._headers
        return self._headers


def test_a_message_becomes_a_record():
    found = as_record(Found(headers=[("origin", b"x"), ("empty", None)]))
    assert type(found) is Record
    assert found == Record("events", 3, 7, 1234, b"k", b"v", (("origin", b"x"), ("empty", b"")))


def test_a_header_that_cannot_be_read_costs_the_headers_not_the_record(caplog):
    broken = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    assert as_record(Found(headers=broken)) == Record("events", 3, 7, 1234, b"k", b"v", ())
    assert "events[3]@7: read without its headers" in caplog.text


class Queue:
    """A client with messages waiting, and some that come while it waits; notes how long it was to wait."""

    def __init__(self, waiting, coming=()):
        self._waiting, self._coming = list(waiting), list(coming)
        self.waits = []

    def consume(self, count, timeout):
        self.waits.append(timeout)
        if not self._waiting and timeout:
            self._waiting, self._coming = self._coming, []
        found, self._waiting = self._waiting[:count], self._waiting[count:]
        return found


@given(st.lists(st.integers(), min_size=1), st.integers(1, 20))
def test_messages_that_are_there_are_taken_without_waiting(waiting, most):
    queue = Queue(waiting)
    assert consume(queue, most, 5.0) == waiting[:most]
    assert queue.waits == [0]


@given(st.lists(st.integers()), st.integers(1, 20))
def test_only_the_first_message_is_waited_for(coming, most):
    queue = Queue([], coming)
    assert consume(queue, most, 5.0) == coming[:most]
    assert sum(queue.waits) == 5.0


# Options


def test_the_settings_are_called_what_librdkafka_calls_them():
    settings = KafkaSettings(
        client_id="me",
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="user",
        sasl_password="secret",
        ssl_cafile="ca.pem",
        ssl_certfile="cert.pem",
        ssl_keyfile="key.pem",
        ssl_password="pass",
    )
    assert settings.client_options("confluent") == {
        "client.id": "me",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "user",
        "sasl.password": "secret",
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "cert.pem",
        "ssl.key.location": "key.pem",
        "ssl.key.password": "pass",
    }


# Silence


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_a_broker_that_is_away_is_named_within_seconds_and_nothing_is_left_behind(free_port):
    url = f"kafka://127.0.0.1:{free_port}"
    before, began = set(threading.enumerate()), time.monotonic()
    with pytest.raises(TransportUnavailable, match=f"{url} .*does not answer") as caught:
        open_transport(url, kafka_client="confluent")
    assert time.monotonic() - began < 10
    assert "`broker`" in caught.value.hint
    assert set(threading.enumerate()) <= before


def test_a_host_name_without_an_address_is_told_from_a_broker_that_is_away():
    url = "kafka://no-such-host.invalid:9092"
    with pytest.raises(TransportUnavailable, match=f"{url}: no such host") as caught:
        open_transport(url, kafka_client="confluent")
    assert "name server" in caught.value.hint


# Questions


class Asked:
    """A question to which there is one scripted answer after the other, the last of them repeated."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.clients = []

    def __call__(self, admin, subjects, **_):
        self.clients.append(admin)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        future = Future()
        if isinstance(answer, int):
            future.set_result(answer)
        else:
            future.set_exception(KafkaException(answer))
        return dict.fromkeys(subjects, future)


class Answering(Questions):
    """A cluster that is always there.

    librdkafka's own mock of one (2.16) now and then aborts the process when many clients of it are closed.
    """

    def client(self, *_):
        return SimpleNamespace(list_topics=lambda *_, **__: None, poll=lambda _: 0)


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(questions, "_AGAIN_SECONDS", 0.01)
    return Answering(["cluster:9092"], {})


NOT_NOW = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)


def test_a_broker_that_says_not_now_is_asked_again_by_another_client(cluster):
    question = Asked(NOT_NOW, KafkaError(KafkaError.FENCED_LEADER_EPOCH), 7)
    assert cluster.ask(question, ["events"], "{}") == {"events": 7}
    assert len(set(map(id, question.clients))) == 3


def test_a_broker_that_goes_on_saying_not_now_is_believed_when_a_requests_time_is_over(cluster):
    question = Asked(NOT_NOW)
    with pytest.raises(TransportUnavailable, match="topic 'events': NOT_LEADER_FOR_PARTITION"):
        cluster.ask(question, ["events"], "topic {!r}", timeout_seconds=0.2)
    assert len(question.clients) > 1


BROKEN = KafkaError(KafkaError._ALL_BROKERS_DOWN)


def test_a_connection_that_broke_is_made_again_by_another_client(cluster):
    assert cluster.ask(Asked(BROKEN, 7), ["events"], "{}") == {"events": 7}


def test_a_broker_to_which_no_connection_can_be_had_is_left_long_before_a_requests_time_is_over(
    cluster, monkeypatch
):
    monkeypatch.setattr(questions, "_BREAK_SECONDS", 0.1)
    question, began = Asked(BROKEN), time.monotonic()
    with pytest.raises(TransportUnavailable):
        cluster.ask(question, ["events"], "{}", timeout_seconds=60)
    assert len(question.clients) > 1
    assert time.monotonic() - began < 30


def test_an_answer_from_a_broker_that_is_gone_is_not_waited_for_while_another_may_have_it(
    cluster, monkeypatch
):
    monkeypatch.setattr(questions, "_BREAK_SECONDS", 0.05)
    answered, clients = Asked(7), []

    def question(admin, subjects, **_):
        clients.append(admin)
        if len(clients) > 1:
            return answered(admin, subjects)
        cluster._asking.trouble.append(KafkaError(KafkaError._TRANSPORT))
        return {"events": Future()}

    assert cluster.ask(question, ["events"], "{}", timeout_seconds=60) == {"events": 7}
    assert len(set(map(id, clients))) == 2


# Commits


class Stuck:
    """A client that never ends a transaction."""

    def __init__(self):
        self.released = threading.Event()

    def client(self, *_):
        return self

    def begin_transaction(self):
        pass

    def produce(self, *_):
        pass

    def flush(self, _):
        return 0

    def send_offsets_to_transaction(self, *_):
        self.released.wait()

    def commit_transaction(self, _):
        pass


class Thawed(Stuck):
    """A client that was frozen: its time is over, and in the next moment it learns that it was fenced."""

    def __init__(self, *steps):
        super().__init__()
        self._late = set(steps)

    def _is_late(self, step):
        is_late = step in self._late
        self._late.discard(step)
        return is_late

    def flush(self, _):
        return int(self._is_late("flush"))

    def send_offsets_to_transaction(self, *_):
        if self._is_late("hand over"):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def commit_transaction(self, _):
        if self._is_late("commit"):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        raise KafkaException(KafkaError(KafkaError._FENCED))


@pytest.mark.parametrize("steps", [["flush"], ["hand over"], ["commit"], ["flush", "hand over", "commit"]])
def test_a_step_whose_time_was_over_before_its_answer_was_read_gets_a_moment(steps):
    bulk = producer.BulkProducer(Thawed(*steps), ClientOptions(commit_timeout_seconds=1))
    with pytest.raises(OwnershipLost):
        bulk.transact([], {("events", 0): 1}, None, deadline=time.monotonic(), where="events[0]")


class Slow(Stuck):
    """A client that leaves a record unacknowledged, whatever time it is given."""

    def flush(self, _):
        return 1


def test_records_that_are_not_acknowledged_in_time_are_no_commit():
    bulk = producer.BulkProducer(Slow(), ClientOptions(commit_timeout_seconds=1))
    with pytest.raises(KafkaException, match="1 records were not acknowledged in time"):
        bulk.send_outputs([Output("events", None, b"")], time.monotonic())


class Crashing(Stuck):
    """A client that was fenced, and whose call fails as it does when two callbacks meet that error."""

    def __init__(self, cause):
        super().__init__()
        self.cause = cause

    def flush(self, _):
        raise SystemError("<method 'flush'> returned NULL without setting an exception") from self.cause

    def abort_transaction(self, seconds):
        code = KafkaError._FENCED if seconds else KafkaError._TIMED_OUT
        raise KafkaException(KafkaError(code, "asked"))


@pytest.mark.parametrize(
    ("cause", "said"), [(None, "asked"), (KafkaException(KafkaError(KafkaError._FENCED, "told")), "told")]
)
def test_a_fatal_error_that_was_lost_between_two_callbacks_is_asked_for(cause, said):
    bulk = producer.BulkProducer(Crashing(cause), ClientOptions(commit_timeout_seconds=1))
    with pytest.raises(OwnershipLost, match=said):
        bulk.transact([], {}, None, deadline=time.monotonic() + 10, where="events[0]")


class Fenced(Crashing):
    """A client that was fenced while it sent a batch, as the next call tells, which does not say by what."""

    def flush(self, _):
        return 0

    def produce(self, *_):
        raise KafkaException(KafkaError(KafkaError._FATAL, "Unable to produce message"))


def test_a_fatal_error_that_the_next_record_meets_is_asked_for():
    bulk = producer.BulkProducer(Fenced(None), ClientOptions(commit_timeout_seconds=1))
    outputs, deadline = [Output("mixes", b"0", b"1")], time.monotonic() + 10
    with pytest.raises(OwnershipLost, match="asked"):
        bulk.transact(outputs, {}, None, deadline=deadline, where="events[0]")


class Refusing(Stuck):
    """A client whose transaction a record has failed, which it tells of after the records behind it."""

    def __init__(self, *failures):
        super().__init__()
        self.failures = list(failures)

    def produce(self, *_):
        raise KafkaException(KafkaError(KafkaError._STATE))

    def poll(self, _):
        if self.failures:
            self.note(KafkaError(self.failures.pop(0)), None)

    def commit_transaction(self, _):
        raise KafkaException(KafkaError(KafkaError._INCONSISTENT))


@pytest.mark.parametrize(
    ("failures", "error"),
    [
        ([KafkaError._PURGE_QUEUE, KafkaError.MSG_SIZE_TOO_LARGE], MessageTooLarge),
        ([KafkaError._PURGE_QUEUE], TransactionFailed),  # the broker's answer is not known
    ],
)
def test_a_transaction_that_takes_no_more_records_says_why(monkeypatch, failures, error):
    monkeypatch.setattr(producer, "MOMENT_SECONDS", 0.1)
    client = Refusing(*failures)
    bulk = producer.BulkProducer(client, ClientOptions(commit_timeout_seconds=1))
    client.note = bulk._note
    with pytest.raises(error):
        bulk.transact([Output("events", None, b"")], {}, None, deadline=time.monotonic() + 10, where="here")


class Refused(Stuck):
    """A client whose group goes on with another generation."""

    def __init__(self, *, aborts):
        super().__init__()
        self._aborts = aborts

    def poll(self, _):
        pass

    def send_offsets_to_transaction(self, *_):
        raise KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))

    def abort_transaction(self, _):
        if not self._aborts:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


@pytest.mark.parametrize("aborts", [True, False])
def test_the_producer_goes_on_once_what_was_refused_for_its_generation_is_aborted(aborts):
    """A new one would find the transaction open, and wait for half a second."""
    failed = set()
    bulk = producer.BulkProducer(
        Refused(aborts=aborts),
        ClientOptions(commit_timeout_seconds=1),
        transactional_id="process",
        failed=failed,
    )
    with pytest.raises(GenerationChanged):
        bulk.transact([], {("events", 0): 1}, None, deadline=time.monotonic() + 1, where="events[0]")
    assert bulk.is_worn is not aborts
    assert ("process" in failed) is not aborts


@pytest.mark.parametrize(("resumed_at", "asked"), [(-math.inf, []), (math.inf, [("events", 3)])])
def test_leaders_are_asked_for_a_while_after_a_rebalance_so_that_fetching_goes_on(resumed_at, asked):
    found = []
    member = object.__new__(ConfluentConsumer)
    member._membership = SimpleNamespace(resumed_at=resumed_at, begun={3})
    member._topics = ("events", "labels")
    member._client = SimpleNamespace(
        offsets_for_times=lambda places, _: found.extend((each.topic, each.partition) for each in places),
        close=lambda: None,
    )
    member._wake_fetching()
    member._client = None
    assert found == asked


def test_no_error_in_the_last_step_passes_for_a_commit():
    class Broken(Stuck):
        def send_offsets_to_transaction(self, *_):
            raise LookupError("not one of the client's own")

    bulk = producer.BulkProducer(Broken(), ClientOptions(commit_timeout_seconds=1))
    with pytest.raises(LookupError):
        bulk.transact([], {("events", 0): 1}, None, deadline=time.monotonic() + 1, where="events[0]")


def test_a_partition_whose_last_commit_failed_waits_longer_before_a_commit_is_given_up(monkeypatch):
    """Or one that brokers are slow to answer might be given up again and again."""
    waits = []
    monkeypatch.setattr(
        producer, "do_with_coordinator", lambda *_, patience_seconds, **__: waits.append(patience_seconds)
    )
    for failed in (set(), {"partition"}):
        bulk = producer.BulkProducer(
            Stuck(), ClientOptions(commit_timeout_seconds=1), transactional_id="partition", failed=failed
        )
        bulk._hand_over([], None, time.monotonic() + 30)
    assert waits == [producer.PATIENCE_SECONDS, pytest.approx(10, abs=1)]
