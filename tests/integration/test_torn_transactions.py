"""The end of a transaction that the network delivers during the next one (Jepsen, 2024; KIP-890)."""

from __future__ import annotations

import contextlib
import os

import pytest

from service.errors import TransportError
from service.settings.kafka import KafkaClient
from tests.support.holding_proxy import PRODUCE, TXN_OFFSET_COMMIT, Loss, proxied_broker
from tests.support.kafka_site import Site, eventually, numbered, owner, values

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

TRIALS = int(os.environ.get("PERCEPTRON_TORN_TRIALS", "3"))
HALFWAY: dict[KafkaClient, int] = {"kafka-python": PRODUCE, "confluent": TXN_OFFSET_COMMIT}
"""The request before which a transaction has done one half: the offsets or the records."""


@pytest.fixture(scope="module")
def proxy(make_kafka_broker):  # type: ignore[no-untyped-def]
    with proxied_broker(make_kafka_broker) as opened:
        yield opened


@pytest.fixture
def site(proxy, client):
    with contextlib.ExitStack() as stack:
        yield Site(f"127.0.0.1:{proxy.port}", client, stack)


def ahead(transport, site, member):
    """Return by how much the committed records are ahead of the committed offsets."""
    return len(values(transport, site.predictions)) - member.consumer.take_over([0])[0].get(site.events, 0)


def commit_next(transport, site, member):
    """Commit a record and an offset that make up for whatever was torn before."""
    n = len(values(transport, site.predictions))
    member.writers[0].commit(numbered(site.predictions, [n]), {site.events: n + 1})


def try_it(transport, site, member, proxy, loss):
    """Let the end of one transaction come in the middle of another; return whether that tears it."""
    proxy.hold(loss, release_before=HALFWAY[site.client])
    for _ in range(2):
        try:
            commit_next(transport, site, member)
        except TransportError:
            eventually(lambda: has_new_writer(member))
    proxy.let_go()
    member.poll()
    return ahead(transport, site, member) != 0


def has_new_writer(member):
    with contextlib.suppress(TransportError):
        member.writers[0] = member.consumer.writer(0)
        return True
    return False


COMMIT_SECONDS = {Loss.ANSWER: 1, Loss.CONNECTION: 30}


@pytest.mark.parametrize("loss", Loss)
def test_late_end_of_a_transaction_does_not_tear_the_next(site, proxy, loss):
    transport = site.open(commit_timeout_seconds=COMMIT_SECONDS[loss])
    transport.ensure_topics({site.events: 1, site.predictions: 1})
    member = owner(transport, site)
    commit_next(transport, site, member)
    before = proxy.deliveries
    n_torn = sum(try_it(transport, site, member, proxy, loss) for _ in range(TRIALS))
    assert (n_torn, proxy.deliveries - before) == (0, TRIALS)
    member.consumer.close()
