"""The commits of a member's writers: together, alongside other work, and what becomes of those that fail."""

import threading
import time
from functools import partial

import pytest

from service.errors import MessageTooLarge, OwnershipLost, TransactionFailed, TransportUnavailable
from service.stream.kafka import transactions
from service.stream.kafka.errors import GenerationChanged
from service.stream.kafka.limits import ClientOptions, TopicLimits
from service.stream.kafka.transactions import KafkaWriter, Transactions
from service.stream.protocol import Output

OPTIONS = ClientOptions(10.0, None, 60.0, 10.0, TopicLimits())
ANSWERS = [Output("predictions", None, b"1")]


class Producer:
    """A producer whose transactions end when they are let; they fail as the script says."""

    needs_replacement = False

    def __init__(self, *failures):
        self.may_end = threading.Event()
        self.may_end.set()
        self.transactions = []
        self.generations = []
        self.dropped_after = None
        self._failures = [*failures]

    def transact(self, outputs, offsets, generation, **_):
        self.may_end.wait(10)
        self.generations.append(generation)
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            raise failure
        self.transactions.append(([*outputs], offsets))

    def drop(self):
        self.dropped_after = len(self.transactions)


class Stage:
    """Writers of some partitions over one producer, which counts how often it was opened, and with what."""

    def __init__(self, producer, *, options=OPTIONS, n_partitions=1, **given):
        self.producer = producer
        self.opened = []
        self.transactions = Transactions(self._open, topic="events", options=options, **given)
        self.writers = [
            KafkaWriter(
                self.transactions,
                partition=partition,
                where=f"events[{partition}]",
                still_owner=lambda _: True,
            )
            for partition in range(n_partitions)
        ]

    def _open(self, options, *, compress):
        self.opened.append((options, compress))
        return self.producer

    def begin_all(self, offset=1):
        for writer in self.writers:
            writer.begin(ANSWERS, {"events": offset})
        self.transactions.send()

    def finish_all(self):
        found = []
        for writer in self.writers:
            try:
                writer.finish()
                found.append(None)
            except (OwnershipLost, TransactionFailed, TransportUnavailable, MessageTooLarge) as error:
                found.append(type(error))
        return found


@pytest.mark.parametrize(
    ("topics", "which"),
    [
        (["predictions"], "the topic predictions"),
        (["predictions", "letters", "predictions"], "one of the topics letters, predictions"),
    ],
)
def test_too_large_record_is_rejected_with_its_possible_topics(topics, which):
    (writer,) = Stage(Producer(MessageTooLarge("events[0]: MSG_SIZE_TOO_LARGE", hint="raise it"))).writers
    for _ in range(2):  # the writer has ended by then, and says why
        with pytest.raises(MessageTooLarge) as rejection:
            writer.commit([Output(topic, None, b"") for topic in topics], {})
        assert str(rejection.value) == f"events[0]: MSG_SIZE_TOO_LARGE; the record was for {which}"
        assert "max.message.bytes" in rejection.value.hint


def test_batches_of_all_writers_share_one_transaction():
    stage = Stage(Producer(), n_partitions=3)
    stage.begin_all(7)
    assert stage.finish_all() == [None] * 3
    assert stage.producer.transactions == [(ANSWERS * 3, {("events", each): 7 for each in range(3)})]


def test_compressed_outputs_have_their_own_transaction_and_producer():
    stage = Stage(Producer(), n_partitions=2)
    stage.writers[0].begin(ANSWERS, {"events": 1})
    stage.writers[1].begin(ANSWERS, {"events": 1}, compress=True)
    stage.transactions.send()
    assert stage.finish_all() == [None, None]
    assert len(stage.producer.transactions) == 2
    assert [compress for _, compress in stage.opened] == [False, True]


def test_partitions_commit_separately_after_a_shared_failure():
    stage = Stage(Producer(TransactionFailed("rolled back")), n_partitions=2)
    stage.begin_all()
    assert stage.finish_all() == [TransactionFailed] * 2
    stage.writers = Stage(stage.producer, n_partitions=2).writers  # new ones, of the same member
    for writer in stage.writers:
        writer._transactions = stage.transactions
    for expected in (2, 3):  # once they have committed, they are together again
        stage.begin_all()
        assert stage.finish_all() == [None, None]
        assert len(stage.producer.transactions) == expected


def test_unavailable_stream_does_not_split_the_transaction():
    stage = Stage(Producer(TransportUnavailable("away")), n_partitions=2)
    stage.begin_all()
    assert stage.finish_all() == [TransportUnavailable] * 2
    assert not stage.transactions._apart


def test_changed_generation_is_not_a_failure():
    generations = iter(range(9))
    stage = Stage(
        Producer(GenerationChanged("joined"), GenerationChanged("joined")),
        n_partitions=2,
        group_metadata=lambda: next(generations),
    )
    stage.begin_all()
    assert stage.finish_all() == [None, None]
    assert stage.producer.generations == [0, 1, 2]
    assert len(stage.producer.transactions) == len(stage.opened) == 1


def test_endless_rebalance_is_a_failure(monkeypatch):
    monkeypatch.setattr(transactions, "_SHARING_SECONDS", 0.05)
    stage = Stage(Producer(*[GenerationChanged("joined")] * 1000))
    stage.begin_all()
    assert stage.finish_all() == [GenerationChanged]


def test_abandoned_commit_rejected_later_is_not_resent(monkeypatch):
    monkeypatch.setattr(transactions, "_GRACE_SECONDS", 0.1)
    options = ClientOptions(10.0, None, 60.0, 0.1, TopicLimits())
    stage = Stage(Producer(GenerationChanged("joined")), options=options, n_partitions=2)
    stage.producer.may_end.clear()
    with pytest.raises(TransportUnavailable):
        stage.writers[0].commit(ANSWERS, {"events": 1})
    stage.producer.may_end.set()
    while not stage.producer.generations:
        time.sleep(0.001)
    time.sleep(0.05)  # the thread that was given up has heard of it
    stage.writers[1].commit(ANSWERS, {"events": 9})
    stage.transactions.renew()
    assert stage.producer.transactions == [(ANSWERS, {("events", 1): 9})]


def test_expelled_member_sends_nothing():
    def put_out():
        raise OwnershipLost("the group has removed this member")

    stage = Stage(Producer(), n_partitions=2, group_metadata=put_out)
    stage.begin_all()
    assert set(stage.finish_all()) <= {OwnershipLost, TransactionFailed}
    assert stage.producer.transactions == []


def test_failed_transaction_gets_more_time_and_the_next_less():
    first = ClientOptions(10.0, None, 9.0, 8.0, TopicLimits())
    stage = Stage(Producer(TransportUnavailable("slow")), first_options=first)
    stage.begin_all()
    stage.finish_all()
    stage.transactions.renew()
    assert [options.commit_timeout_seconds for options, _ in stage.opened] == [8.0, 10.0]
    stage.transactions.close()


def test_failed_producer_with_its_own_id_is_reopened_at_once():
    """Until then readers of committed records stop at what was written."""
    for has_own_id, n_opened in ((True, 2), (False, 1)):
        stage = Stage(Producer(TransactionFailed("no")), has_own_id=has_own_id)
        stage.begin_all()
        stage.finish_all()
        assert len(stage.opened) == n_opened


@pytest.mark.parametrize("is_finished", [True, False])
def test_failed_commit_raises_and_starts_no_other(is_finished):
    stage = Stage(Producer(TransactionFailed("rolled back")))
    stage.begin_all()
    (writer,) = stage.writers
    for tell in (writer.finish,) * is_finished + (partial(writer.begin, ANSWERS, {"events": 2}),) * 2:
        with pytest.raises(TransactionFailed, match="rolled back"):
            tell()
    assert (stage.producer.dropped_after, stage.producer.transactions) == (0, [])


def test_commit_ends_in_time_even_if_the_client_hangs(monkeypatch):
    monkeypatch.setattr(transactions, "_GRACE_SECONDS", 0.1)
    stage = Stage(Producer(), options=ClientOptions(10.0, None, 60.0, 0.1, TopicLimits()))
    stage.producer.may_end.clear()
    with pytest.raises(TransportUnavailable, match=r"events\[0\]: the client did not end the transaction"):
        stage.writers[0].commit(ANSWERS, {"events": 1})
    assert stage.producer.dropped_after == 0
    stage.producer.may_end.set()
