"""Commits that kafka-python would report and the broker has not made."""

from __future__ import annotations

import pytest
from kafka.admin import KafkaAdminClient
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import ProducerIdAndEpoch, TransactionManager

from service.errors import OwnershipLost, ServiceError, TransactionFailed
from tests.support.kafka_site import numbered, owner, values

pytestmark = pytest.mark.kafka

INVALID_PRODUCER_EPOCH = 47


@pytest.fixture
def client():
    return "kafka-python"


def fail_first_batch(monkeypatch):
    """Turn the broker's first acknowledgement into INVALID_PRODUCER_EPOCH."""
    done = []
    complete = Sender._complete_batch

    def complete_or_fail(sender, batch, response):
        if not done and sender._transaction_manager.is_transactional():
            done.append(True)
            response.error_code = INVALID_PRODUCER_EPOCH
        complete(sender, batch, response)

    monkeypatch.setattr(Sender, "_complete_batch", complete_or_fail)
    return done


def test_batch_that_fails_in_the_flush_fails_the_commit(site, transport, monkeypatch):
    member = owner(transport, site)
    failed = fail_first_batch(monkeypatch)
    with pytest.raises(TransactionFailed):
        member.writers[0].commit(numbered(site.predictions, [1]), {site.events: 1})
    assert failed
    with pytest.raises(TransactionFailed):
        member.writers[0].commit(numbered(site.predictions, [1]), {site.events: 1})
    member.writers[0] = member.consumer.writer(0)
    assert values(transport, site.predictions) == []
    assert member.consumer.take_over([0])[0] == {}
    member.writers[0].commit(numbered(site.predictions, [1]), {site.events: 1})
    assert values(transport, site.predictions) == [b"1"]
    assert member.consumer.take_over([0])[0] == {site.events: 1}
    member.consumer.close()


def test_new_epoch_during_the_commit_fails_it(site, transport, monkeypatch):
    begin_commit = TransactionManager.begin_commit

    def bump(manager):
        result = begin_commit(manager)
        manager.producer_id_and_epoch = ProducerIdAndEpoch(1, 77)
        return result

    member = owner(transport, site)
    monkeypatch.setattr(TransactionManager, "begin_commit", bump)
    with pytest.raises(ServiceError) as caught:
        member.writers[0].commit(numbered(site.predictions, [1]), {site.events: 1})
    assert type(caught.value) in {TransactionFailed, OwnershipLost}
    monkeypatch.undo()
    member.consumer.close()


def test_group_whose_coordinator_has_moved_keeps_its_members(site, transport, monkeypatch):
    """A client asks the coordinator that it has found first, which has another response from then on."""
    describe, have_asked = KafkaAdminClient.describe_groups, []

    def describe_elsewhere(client, groups):
        found = describe(client, groups)
        if client in have_asked:
            found[site.group] |= {"error": "NotCoordinatorError", "group_state": "", "members": []}
        have_asked.append(client)
        return found

    monkeypatch.setattr(KafkaAdminClient, "describe_groups", describe_elsewhere)
    member = owner(transport, site)
    assert member.consumer.take_over([0])[0] == {}
