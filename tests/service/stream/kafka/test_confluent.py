"""What can be said of the adapter on confluent-kafka without a broker: errors, records, silence."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from contextlib import nullcontext
from types import SimpleNamespace
from unittest import mock

import pytest
from confluent_kafka import KafkaError, KafkaException
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import UnknownError, for_code

from service.errors import (
    MessageTooLarge,
    OwnershipLost,
    ServiceError,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.stream.kafka.confluent import admin_requests, producer
from service.stream.kafka.confluent.admin_requests import AdminRequests
from service.stream.kafka.confluent.consumer import ConfluentConsumer
from service.stream.kafka.confluent.errors import MEANING_OF, meaning_of, translated
from service.stream.kafka.confluent.messages import as_record, consume
from service.stream.kafka.errors import HINTS, TABLE, GenerationChanged
from service.stream.kafka.kafka_python.errors import meaning_of as meaning_for_kafka_python
from service.stream.kafka.limits import ClientOptions
from service.stream.protocol import Output, Record

CODES = {name: code for name, code in vars(KafkaError).items() if isinstance(code, int)}
PROTOCOL_CODES = {
    name: code for name, code in CODES.items() if code > 0 and for_code(code) is not UnknownError
}


def test_every_error_of_librdkafka_has_a_meaning():
    assert [name for name, code in CODES.items() if code not in MEANING_OF] == []


def test_every_librdkafka_error_is_listed_once():
    rows = [each for kind, each in TABLE.items() if kind != "called"]
    names = [name for row in rows for each in row.keys() - {"hint"} for name in row[each].split()]
    assert len(names) == len(set(names))


def test_error_of_the_protocol_means_the_same_in_both_clients():
    for name, code in PROTOCOL_CODES.items():
        assert meaning_of(KafkaError(code)) is meaning_for_kafka_python(for_code(code)), name


@pytest.mark.parametrize(
    ("foreign", "meaning"),
    [
        (KafkaException(KafkaError(KafkaError._FENCED)), OwnershipLost),
        (KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)), TransportUnavailable),
        (BufferError("full"), TransportUnavailable),
        (RuntimeError("closed"), TransportError),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_client_errors_map_to_service_errors(foreign, meaning):
    with pytest.raises(ServiceError) as caught, translated("events[3]"):
        raise foreign
    assert type(caught.value) is meaning
    assert str(caught.value).startswith("events[3]: ")
    assert caught.value.hint == HINTS.get(meaning, "")
    assert caught.value.__cause__ is foreign


def test_fatal_error_hidden_by_a_callback_is_found():
    fenced = KafkaException(KafkaError(KafkaError._FENCED, "by a newer instance", fatal=True))
    covered = SystemError("<method> returned a result with an exception set")
    covered.__cause__ = fenced
    with pytest.raises(OwnershipLost, match="by a newer instance"), translated("events[0]"):
        raise covered


def test_unknown_error_is_classified_by_its_flags():
    unknown = 9999
    assert meaning_of(KafkaError(unknown)) is TransportError
    assert meaning_of(KafkaError(unknown, retriable=True)) is TransportUnavailable
    assert meaning_of(KafkaError(unknown, txn_requires_abort=True)) is TransactionFailed


OUTPUT = Output("events", b"0", b"1")


# Messages


def message(*headers):
    """Return a message as librdkafka gives it, whose headers are these or cannot be read."""
    parts = {"topic": "events", "partition": 3, "offset": 7, "key": b"k", "value": b"v"}
    made = mock.Mock(**{f"{name}.return_value": part for name, part in parts.items()})
    made.timestamp.return_value = (1, 1234)
    made.headers.side_effect = headers
    return made


def test_librdkafka_message_is_converted_to_a_record():
    found = as_record(message([("origin", b"x"), ("empty", None)]))
    assert type(found) is Record
    assert found == Record("events", 3, 7, 1234, b"k", b"v", (("origin", b"x"), ("empty", b"")))


def test_unreadable_header_costs_the_headers_not_the_record(caplog):
    broken = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    assert as_record(message(broken)) == Record("events", 3, 7, 1234, b"k", b"v", ())
    assert "events[3]@7: its headers are ignored" in caplog.text


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
def test_available_messages_are_consumed_without_waiting(waiting, most):
    queue = Queue(waiting)
    assert consume(queue, most, 5.0) == waiting[:most]
    assert queue.waits == [0]


@given(st.lists(st.integers()), st.integers(1, 20))
def test_consume_waits_only_for_the_first_message(coming, most):
    queue = Queue([], coming)
    assert consume(queue, most, 5.0) == coming[:most]
    assert sum(queue.waits) == 5.0


# Administrative requests


class Asked:
    """A question to which there is one scripted response after the other, the last of them repeated."""

    def __init__(self, *responses):
        self._responses = list(responses)
        self.clients = []

    def __call__(self, admin, subjects, **_):
        self.clients.append(admin)
        response = self._responses.pop(0) if len(self._responses) > 1 else self._responses[0]
        future = Future()
        if isinstance(response, int):
            future.set_result(response)
        else:
            future.set_exception(KafkaException(response))
        return dict.fromkeys(subjects, future)


class Answering(AdminRequests):
    """A cluster that is always there.

    librdkafka's own mock of one (2.16) now and then aborts the process when many clients of it are closed.
    """

    def client(self, *_):
        return SimpleNamespace(list_topics=lambda *_, **__: None, poll=lambda _: 0)


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(admin_requests, "_AGAIN_SECONDS", 0.01)
    return Answering(["cluster:9092"], {})


NOT_NOW = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)


def test_request_to_an_unready_broker_uses_another_client(cluster):
    question = Asked(NOT_NOW, KafkaError(KafkaError.FENCED_LEADER_EPOCH), 7)
    assert cluster.ask(question, ["events"], "{}") == {"events": 7}
    assert len(set(map(id, question.clients))) == 3


def test_unready_broker_is_reported_after_the_deadline(cluster):
    question = Asked(NOT_NOW)
    with pytest.raises(TransportUnavailable, match="topic 'events': NOT_LEADER_FOR_PARTITION"):
        cluster.ask(question, ["events"], "topic {!r}", timeout_seconds=0.2)
    assert len(question.clients) > 1


BROKEN = KafkaError(KafkaError._ALL_BROKERS_DOWN)


def test_broken_connection_is_replaced_by_another_client(cluster):
    assert cluster.ask(Asked(BROKEN, 7), ["events"], "{}") == {"events": 7}


def test_unreachable_broker_is_abandoned_before_the_deadline(cluster, monkeypatch):
    monkeypatch.setattr(admin_requests, "_BREAK_SECONDS", 0.1)
    question, began = Asked(BROKEN), time.monotonic()
    with pytest.raises(TransportUnavailable):
        cluster.ask(question, ["events"], "{}", timeout_seconds=60)
    assert len(question.clients) > 1
    assert time.monotonic() - began < 30


def test_response_of_a_dead_broker_is_abandoned_for_another_one(cluster, monkeypatch):
    monkeypatch.setattr(admin_requests, "_BREAK_SECONDS", 0.05)
    answered, clients = Asked(7), []

    def question(admin, subjects, **_):
        clients.append(admin)
        if len(clients) > 1:
            return answered(admin, subjects)
        cluster._asking.errors.append(KafkaError(KafkaError._TRANSPORT))
        return {"events": Future()}

    assert cluster.ask(question, ["events"], "{}", timeout_seconds=60) == {"events": 7}
    assert len(set(map(id, clients))) == 2


# Commits


def failed(code, *words):
    return KafkaException(KafkaError(code, *words))


TIMED_OUT, FENCED = failed(KafkaError._TIMED_OUT), failed(KafkaError._FENCED)
ONE_SECOND = ClientOptions(commit_timeout_seconds=1)


def over(calls=None, **given):
    """Return a producer over a client of which these calls return or raise what is given."""
    client = mock.Mock(**{f"{name}.side_effect": result for name, result in (calls or {}).items()})
    client.client.return_value = client
    client.flush.return_value = 0
    return producer.BulkProducer(client, ONE_SECOND, **given)


def transact(bulk, *outputs, seconds=10.0):
    bulk.transact(
        [*outputs], {("events", 0): 1}, None, deadline=time.monotonic() + seconds, where="events[0]"
    )


@pytest.mark.parametrize("late", [["flush"], ["hand over"], ["commit"], ["flush", "hand over", "commit"]])
def test_step_frozen_past_its_deadline_gets_extra_time(late):
    """As of a client that was frozen: in the next moment it learns that it was fenced."""
    calls = {
        "flush": [int("flush" in late), *[0] * 9],
        "send_offsets_to_transaction": [TIMED_OUT if "hand over" in late else None, None],
        "commit_transaction": [TIMED_OUT if "commit" in late else FENCED, FENCED],
    }
    with pytest.raises(OwnershipLost):
        transact(over(calls), seconds=0)


def test_unacknowledged_records_are_not_a_commit():
    with pytest.raises(KafkaException, match="1 records were not acknowledged in time"):
        over({"flush": lambda _: 1}).send_outputs([OUTPUT], time.monotonic())


@pytest.mark.parametrize("failure", [("FAIL", "Connect to 127.0.0.1:9092 failed"), None])
def test_leaders_are_queried_while_acknowledgements_and_connection_are_missing(failure):
    """Of all topics, which may have moved; a slow broker is not asked."""
    asked, outputs = [], [Output(topic, None, b"") for topic in ("predictions", "checkpoints", "predictions")]

    def poll(_):
        if failure:
            bulk._log.log(0, "%s %s", *failure)

    calls = {"poll": poll, "list_topics": lambda topic, _: asked.append(topic)}
    bulk = over({**calls, "flush": lambda _: 0 if len(asked) == 2 else 3})
    with nullcontext() if failure else pytest.raises(KafkaException, match="were not acknowledged in time"):
        bulk.send_outputs(outputs, time.monotonic() + (10 if failure else 0.01))
    assert sorted(asked) == (["checkpoints", "predictions"] if failure else [])


def told_when_asked(seconds):
    raise failed(KafkaError._FENCED if seconds else KafkaError._TIMED_OUT, "asked")


def crashes(cause):
    """Return a call that fails as it does when two callbacks meet an error."""

    def flush(_):
        raise SystemError("<method 'flush'> returned NULL without setting an exception") from cause

    return flush


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ({"flush": crashes(None)}, "asked"),
        ({"flush": crashes(failed(KafkaError._FENCED, "told"))}, "told"),
        ({"produce": failed(KafkaError._FATAL, "Unable to produce message")}, "asked"),
    ],
    ids=["lost between two callbacks", "covered up", "met by the next record"],
)
def test_unreported_fatal_error_is_queried(calls, said):
    with pytest.raises(OwnershipLost, match=said):
        transact(over({**calls, "abort_transaction": told_when_asked}), OUTPUT)


@pytest.mark.parametrize(
    ("failures", "error"),
    [
        ([KafkaError._PURGE_QUEUE, KafkaError.MSG_SIZE_TOO_LARGE], MessageTooLarge),
        ([KafkaError._PURGE_QUEUE], TransactionFailed),  # the broker's response is not known
    ],
)
def test_full_transaction_fails_with_the_reason_of_its_record(monkeypatch, failures, error):
    """The client tells of the record that has failed it after the records after it."""
    monkeypatch.setattr(producer, "MOMENT_SECONDS", 0.1)

    def poll(_):
        if failures:
            bulk._note(KafkaError(failures.pop(0)), None)

    stuck = {"produce": failed(KafkaError._STATE), "commit_transaction": failed(KafkaError._INCONSISTENT)}
    bulk = over({**stuck, "poll": poll})
    with pytest.raises(error):
        transact(bulk, OUTPUT)


@pytest.mark.parametrize("aborts", [True, False])
def test_producer_continues_after_it_aborts_a_rejected_generation(aborts):
    """A new one would find the transaction open, and wait for half a second."""
    names = set()
    rejected = {"send_offsets_to_transaction": failed(KafkaError.ILLEGAL_GENERATION)}
    rejected["abort_transaction"] = None if aborts else TIMED_OUT
    bulk = over(rejected, transactional_id="process", failed=names)
    with pytest.raises(GenerationChanged):
        transact(bulk, seconds=1)
    assert bulk.needs_replacement is not aborts
    assert ("process" in names) is not aborts


@pytest.mark.parametrize(("resumed_at", "asked"), [(-math.inf, []), (math.inf, [("events", 3)])])
def test_leaders_are_queried_after_a_rebalance(resumed_at, asked):
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


def test_error_in_the_last_step_is_never_a_commit():
    with pytest.raises(LookupError):
        transact(over({"send_offsets_to_transaction": LookupError("not one of the client's own")}), seconds=1)


def test_partition_whose_last_commit_failed_waits_longer(monkeypatch):
    """Or one that brokers are slow to answer might be given up again and again."""
    waits = []
    monkeypatch.setattr(
        producer, "do_with_coordinator", lambda *_, patience_seconds, **__: waits.append(patience_seconds)
    )
    for names in (set(), {"partition"}):
        over(transactional_id="partition", failed=names)._hand_over([], None, time.monotonic() + 30)
    assert waits == [producer.PATIENCE_SECONDS, pytest.approx(10, abs=1)]
