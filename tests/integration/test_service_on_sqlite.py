"""The whole service on one SQLite file: no server, one process that works."""

import signal
from collections import Counter

import pytest

from tests.integration.claims import ClientClaims, ids, numbered


@pytest.fixture
def kafka_client():
    return "sqlite"


class TestServiceOnSqlite(ClientClaims):
    """Everything `serve` promises, on SQLite."""

    def test_second_process_names_the_owner_and_succeeds_it_when_killed(self, stream, serve):
        stream.create(partitions=2)
        events = numbered(2)
        one = serve().ready()
        one.eventually(lambda: len(one.partitions()) == 2)
        other = serve(standby=True).ready()
        one.signal(signal.SIGSTOP)  # a frozen owner stays the owner
        last = serve("--exit-at-end")
        assert last.wait() == 1
        one.signal(signal.SIGCONT)
        assert f"is in use by process {one.pid} on " in last.stderr
        assert "other owners of all partitions" in last.stderr
        stream.produce(events, partitions=2)
        one.eventually(lambda: len(stream.outputs()) >= len(events) / 2)
        one.kill()
        other.eventually(lambda: len(stream.outputs()) >= len(events))
        assert Counter(output["id"] for output in stream.outputs()) == Counter(ids(events))
