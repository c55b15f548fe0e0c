"""Failures that kafka-python keeps to itself, or that come between taking records and handing them on."""

import itertools

import pytest
from kafka.coordinator.base import BaseCoordinator
from kafka.producer.sender import Sender
from prometheus_client import CollectorRegistry

from service.errors import TransportUnavailable
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.transport.kafka.confluent.consumer import ConfluentConsumer
from service.transport.kafka.kafka_python.consumer import KafkaPythonConsumer
from tests.chaos.presets import AMONG_EVENTS, APART, hours_ago_ms
from tests.support.chaos_log import chaos_log
from tests.support.exactly_once import assert_exactly_once

pytestmark = pytest.mark.kafka
INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER = 47, 45
N_EVENTS = 400


@pytest.fixture
def place(kafka_bootstrap, client):
    return {"broker": f"kafka://{kafka_bootstrap}", "kafka_client": client}


@pytest.fixture
def client():
    return "kafka-python"


def run(stream):
    stream.produce(list(chaos_log(N_EVENTS, seed=13, start_ms=hours_ago_ms(100))))
    metrics = Metrics(CollectorRegistry())
    Runner(stream.transport, stream.settings, metrics=metrics, health=Health()).run(exit_at_end=True)


@pytest.mark.parametrize("code", [INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER])
def test_batches_that_fail_while_a_commit_flushes_them_are_done_again(open_chaos, monkeypatch, code):
    answers, failed = itertools.count(), []
    complete = Sender._complete_batch

    def complete_or_fail(sender, batch, answer):
        transactions = sender._transaction_manager
        if transactions and transactions.is_transactional() and next(answers) % 25 == 11:
            failed.append(batch)
            answer.error_code = code
        complete(sender, batch, answer)

    stream = open_chaos(**AMONG_EVENTS)
    monkeypatch.setattr(Sender, "_complete_batch", complete_or_fail)
    run(stream)
    monkeypatch.undo()
    assert_exactly_once(stream)
    assert len(failed) >= 3


def test_a_membership_that_ends_while_the_group_answers_is_begun_anew(open_chaos, monkeypatch):
    answers, ended = itertools.count(), []
    process = BaseCoordinator._process_sync_group_response

    def end_first(coordinator, answer, sent_at):
        if next(answers) < 5:
            ended.append(coordinator._generation)
            coordinator.reset_generation(member_id=coordinator._generation.member_id)
        return process(coordinator, answer, sent_at)

    stream = open_chaos(**APART)
    monkeypatch.setattr(BaseCoordinator, "_process_sync_group_response", end_first)
    run(stream)
    monkeypatch.undo()
    assert_exactly_once(stream)
    assert ended


def test_a_membership_that_ends_between_the_groups_answer_and_its_use_is_begun_anew(open_chaos, monkeypatch):
    answers, ended = itertools.count(), []
    process = BaseCoordinator._process_sync_group_response

    def end_after(coordinator, answer, sent_at):
        processed = process(coordinator, answer, sent_at)
        if next(answers) < 5:
            ended.append(coordinator._generation)
            coordinator.reset_generation(member_id=coordinator._generation.member_id)
        return processed

    stream = open_chaos(**APART)
    monkeypatch.setattr(BaseCoordinator, "_process_sync_group_response", end_after)
    run(stream)
    monkeypatch.undo()
    assert_exactly_once(stream)
    assert ended


STEPS = {
    KafkaPythonConsumer: ("_follow_assignment", "_check_alive", "lag"),
    ConfluentConsumer: ("_check_alive", "lag"),
}
CLIENTS = {KafkaPythonConsumer: "kafka-python", ConfluentConsumer: "confluent"}


@pytest.mark.parametrize(
    ("client", "kind", "step"),
    [(CLIENTS[kind], kind, step) for kind, steps in STEPS.items() for step in steps],
)
def test_records_that_were_taken_when_a_poll_failed_are_not_lost(open_chaos, monkeypatch, kind, step):
    calls, failed = itertools.count(), []
    do = getattr(kind, step)

    def do_or_fail(consumer):
        if next(calls) % 3 == 2:
            failed.append(step)
            raise TransportUnavailable("as if")
        return do(consumer)

    stream = open_chaos(**APART)
    monkeypatch.setattr(kind, step, do_or_fail)
    run(stream)
    monkeypatch.undo()
    assert_exactly_once(stream)
    assert len(failed) >= 3
