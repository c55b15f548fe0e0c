"""Outputs in bulk through confluent-kafka: what becomes of those that fail."""

from __future__ import annotations

import pytest

from service.errors import (
    MessageTooLarge,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportUnavailable,
)
from service.stream.batches import OutputBatch
from service.stream.kafka.limits import CLIENT_LIMIT
from service.stream.protocol import Output
from tests.support.kafka_site import owner, set_limit, values

pytestmark = [pytest.mark.kafka, pytest.mark.parametrize("client", ["confluent"])]
SMALL_BYTES, LARGE_BYTES = 5000, 20_000


def shrink(admin, topic):
    """Let a topic take less than the transport knows."""
    set_limit(admin, topic, SMALL_BYTES)


def delete(admin, topic):
    admin.delete_topics([topic])


def leave_as_it_is(_admin, _topic): ...


@pytest.mark.parametrize("n_after", [2, 20_000], ids=["the last batch", "one of three batches"])
@pytest.mark.parametrize(
    ("spoil", "n_bytes", "error"),
    [
        (shrink, LARGE_BYTES, MessageTooLarge),
        (leave_as_it_is, CLIENT_LIMIT.n_bytes + 1, MessageTooLarge),
        (delete, 1, TopicMissing),
    ],
    ids=["larger than its topic takes", "larger than the client takes", "for a topic that was deleted"],
)
def test_undelivered_output_fails_the_commit_and_names_its_reason(
    site, admin, spoil, n_bytes, error, n_after
):
    transport = site.open(commit_timeout_seconds=3)
    transport.ensure_topics({site.events: 1, site.predictions: 1})
    member = owner(transport, site)
    good = [Output(site.predictions, b"key", b"1"), Output(site.predictions, b"key", b"2")]
    member.writers[0].commit(OutputBatch(good), {site.events: 1})
    spoil(admin, site.predictions)
    bad = OutputBatch([*good, Output(site.predictions, b"key", b"x" * n_bytes), *good[:1] * n_after])
    with pytest.raises(ServiceError) as raised:
        member.writers[0].commit(bad, {site.events: 2})
    assert isinstance(raised.value, (TransactionFailed, TransportUnavailable, error))  # it is tried again
    assert member.consumer.take_over([0])[0] == {site.events: 1}
    with pytest.raises(error):
        member.consumer.writer(0).commit(bad, {site.events: 2})
    assert member.consumer.take_over([0])[0] == {site.events: 1}
    if spoil is not delete:
        assert values(transport, site.predictions) == [b"1", b"2"]
        member.consumer.writer(0).commit(OutputBatch(good), {site.events: 3})
        assert values(transport, site.predictions) == [b"1", b"2", b"1", b"2"]
    member.consumer.close()
