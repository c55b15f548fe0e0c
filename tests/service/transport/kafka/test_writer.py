"""A writer's commits, beside other work and not, and what it says of records that the broker refuses."""

import threading
import time
from functools import partial

import pytest

from service.errors import MessageTooLarge, TransactionFailed, TransportUnavailable
from service.stream import Output
from service.transport.kafka import background_call
from service.transport.kafka.writer import KafkaWriter


class Refusing:
    """A producer whose transactions are too large."""

    is_worn = False

    def transact(self, *_, **__):
        raise MessageTooLarge("events[0]: MSG_SIZE_TOO_LARGE", hint="raise it")

    def drop(self):
        pass


@pytest.mark.parametrize(
    ("topics", "which"),
    [
        (["predictions"], "the topic predictions"),
        (["predictions", "letters", "predictions"], "one of the topics letters, predictions"),
    ],
)
def test_a_record_that_is_too_large_is_refused_with_the_topics_that_it_may_be_for(topics, which):
    writer = KafkaWriter(
        lambda **_: Refusing(),
        partition=0,
        where="events[0]",
        group_metadata=lambda: None,
        still_owner=lambda _: True,
        check_topics=lambda _: None,
        commit_timeout_seconds=1.0,
    )
    for _ in range(2):  # the writer is closed by then, and says why
        with pytest.raises(MessageTooLarge) as refusal:
            writer.commit([Output(topic, None, b"") for topic in topics], {})
        assert str(refusal.value) == f"events[0]: MSG_SIZE_TOO_LARGE; the record was for {which}"
        assert "max.message.bytes" in refusal.value.hint


class Slow:
    """A producer whose transactions end when they are let."""

    is_worn = False

    def __init__(self, failure=None):
        self.may_end = threading.Event()
        self.transactions = []
        self.dropped_after = None
        self._failure = failure

    def transact(self, outputs, offsets, *_, **__):
        self.may_end.wait(10)
        if self._failure is not None:
            raise self._failure
        self.transactions.append((outputs, offsets))

    def drop(self):
        self.dropped_after = len(self.transactions)


def writer_of(producer, *, commit_timeout_seconds=10.0):
    return KafkaWriter(
        lambda **_: producer,
        partition=0,
        where="events[0]",
        group_metadata=lambda: None,
        still_owner=lambda _: True,
        check_topics=lambda _: None,
        commit_timeout_seconds=commit_timeout_seconds,
    )


ANSWERS = [Output("predictions", None, b"1")]


def test_a_commit_goes_on_after_it_was_begun_and_has_ended_when_it_is_finished():
    producer = Slow()
    writer = writer_of(producer)
    writer.begin(ANSWERS, {"events": 1})
    assert producer.transactions == []
    assert writer.is_committing
    producer.may_end.set()
    writer.finish()
    assert not writer.is_committing
    assert producer.transactions == [(ANSWERS, {("events", 0): 1})]
    writer.finish()  # nothing is under way any more


def test_a_commit_that_was_begun_and_fails_says_so_when_it_is_finished_and_ever_after():
    producer = Slow(TransactionFailed("rolled back"))
    producer.may_end.set()
    writer = writer_of(producer)
    writer.begin(ANSWERS, {"events": 1})
    while writer.is_committing:
        time.sleep(0.001)
    for tell in (writer.finish, partial(writer.begin, ANSWERS, {"events": 2})):
        with pytest.raises(TransactionFailed, match="rolled back"):
            tell()
    assert producer.dropped_after == 0


def test_a_commit_is_not_begun_before_the_one_before_it_has_ended():
    producer = Slow(TransactionFailed("rolled back"))
    producer.may_end.set()
    writer = writer_of(producer)
    writer.begin(ANSWERS, {"events": 1})
    with pytest.raises(TransactionFailed):
        writer.begin(ANSWERS, {"events": 2})
    assert producer.transactions == []


def test_a_commit_ends_before_its_producer_is_dropped():
    producer = Slow()
    writer = writer_of(producer)
    writer.begin(ANSWERS, {"events": 1})
    threading.Timer(0.1, producer.may_end.set).start()
    writer.close()
    assert producer.dropped_after == 1
    writer.close()


def test_a_commit_ends_in_time_even_if_the_client_does_not(monkeypatch):
    monkeypatch.setattr(background_call, "_GRACE_SECONDS", 0.1)
    producer = Slow()
    writer = writer_of(producer, commit_timeout_seconds=0.1)
    with pytest.raises(TransportUnavailable, match=r"events\[0\]: the client does not end the transaction"):
        writer.commit(ANSWERS, {"events": 1})
    assert producer.dropped_after == 0
    producer.may_end.set()
