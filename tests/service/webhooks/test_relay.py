"""Each committed prediction that a webhook is about is posted at least once, whatever the receiver does."""

import json
import threading
import time
import uuid
from contextlib import ExitStack, closing, nullcontext
from typing import get_args

import pytest

from service.errors import StorageFull, TopicMissing
from service.settings.kafka import KafkaClient
from service.stream.opening import open_transport
from service.stream.protocol import Output
from service.stream.sqlite.consumer import SqliteWriter
from service.webhooks.relay import Relay
from tests.service.building import settings
from tests.support.speed import patience
from tests.support.webhook_server import WebhookServer

PARTITIONS = 2
N_RECORDS = 60


class Site:
    """A predictions topic with mistakes, and relays of it."""

    def __init__(self, url, client, stack):
        suffix = uuid.uuid4().hex[:8]
        self.url, self.client, self._stack = url, client, stack
        self.names = {"group": f"group-{suffix}", "predictions_topic": f"predictions-{suffix}"}
        self.topic = self.names["predictions_topic"]
        self.transport = self.open()
        self.transport.ensure_topics({self.topic: PARTITIONS})
        self.produced = 0

    def open(self):
        return self._stack.enter_context(closing(open_transport(self.url, kafka_client=self.client)))

    def produce(self, n=N_RECORDS):
        """Append predictions: every third one a mistake, every seventh blocked."""
        outputs = []
        for _ in range(n):
            number, self.produced = self.produced, self.produced + 1
            fields = {"id": f"e-{number}", "label": "spam", "score": 1.5, "mistake": number % 3 == 0}
            fields |= {"decision": "block"} if number % 7 == 0 else {}
            outputs.append(Output(self.topic, None, json.dumps(fields).encode(), (), number % PARTITIONS))
        self.transport.produce(outputs)

    def settings(self, url, **hook):
        return settings(**self.names, webhooks=[{"url": url, "on": "mistake", **hook}])

    def relay(self, url="http://127.0.0.1:9", **hook):
        made = self.settings(url, **hook)
        return Relay(self.open(), made, made.webhooks[0])


@pytest.fixture(
    params=["sqlite", *(pytest.param(client, marks=pytest.mark.kafka) for client in get_args(KafkaClient))]
)
def place(request, tmp_path):
    is_kafka = request.param != "sqlite"
    url = (
        f"kafka://{request.getfixturevalue('kafka_bootstrap')}" if is_kafka else f"sqlite:///{tmp_path}/s.db"
    )
    with ExitStack() as stack:
        found = Site(url, request.param if is_kafka else "kafka-python", stack)
        to_the_end(found.relay())
        yield found


@pytest.fixture
def sqlite_site(tmp_path):
    with ExitStack() as stack:
        found = Site(f"sqlite:///{tmp_path}/s.db", "kafka-python", stack)
        to_the_end(found.relay())
        yield found


def ids_of(server):
    return {json.loads(body)["record"]["id"] for _, body in server.accepted}


def mistakes(n):
    return {f"e-{number}" for number in range(0, n, 3)}


def to_the_end(relay):
    relay.run(threading.Event(), exit_at_end=True)


def test_relay_before_the_first_start_of_the_service_names_it(sqlite_site):
    sqlite_site.names["predictions_topic"] = "not-there-yet"
    with pytest.raises(TopicMissing) as error:
        sqlite_site.relay()
    assert error.value.hint.startswith("`perceptron serve` creates it; start it")


@pytest.mark.timeout(300)
def test_failing_receiver_gets_each_alert_once(place):
    place.produce()
    with WebhookServer(lambda n: [500, 200, "drop", 200, 429][n % 5]) as server:
        relay = place.relay(server.url)
        to_the_end(relay)
        assert ids_of(server) == mistakes(N_RECORDS)
        assert len(server.accepted) == N_RECORDS // 3 == relay.delivery.delivered
        assert relay.delivery.failed == len(server.asked) - len(server.accepted) > 0
        to_the_end(place.relay(server.url))
        assert len(server.accepted) == N_RECORDS // 3
        place.produce()
        to_the_end(place.relay(server.url))
        assert ids_of(server) == mistakes(2 * N_RECORDS)
        assert len(server.accepted) == 2 * N_RECORDS // 3


def test_unreadable_record_is_skipped_and_counted(sqlite_site, caplog):
    caplog.set_level("INFO")
    sqlite_site.produce()
    deep = [Output(sqlite_site.topic, None, b"[" * 100_000, (), number) for number in range(PARTITIONS)]
    sqlite_site.transport.produce(deep)
    sqlite_site.produce()
    with WebhookServer(lambda _: 200) as server:
        to_the_end(sqlite_site.relay(server.url))
    assert ids_of(server) == mistakes(2 * N_RECORDS)
    assert f"{PARTITIONS} unreadable records" in caplog.text


def test_next_relay_delivers_the_records_of_a_stopped_one(sqlite_site):
    sqlite_site.produce()
    stop = threading.Event()

    def fails_after_ten(number):
        if number > 10:
            stop.set()
            return 500
        return 200

    with WebhookServer(fails_after_ten) as server:
        sqlite_site.relay(server.url).run(stop)
        assert len(server.accepted) == 10
        server.respond = lambda number: 200
        to_the_end(sqlite_site.relay(server.url))
        assert ids_of(server) == mistakes(N_RECORDS)
        assert len(server.accepted) < N_RECORDS // 3 + 10  # what was committed is not repeated


def test_slow_receiver_gets_few_requests_without_losing_membership(sqlite_site):
    sqlite_site.produce(24)
    with WebhookServer(lambda n: "slow" if n < 6 else 200, slow_seconds=0.4) as server:
        to_the_end(sqlite_site.relay(server.url, concurrency=3))
        assert server.max_at_once <= 3
        assert len(server.asked) == 8


def test_late_response_is_a_failed_delivery(sqlite_site):
    sqlite_site.produce(1)
    with WebhookServer(lambda n: "slow" if n == 1 else 200, slow_seconds=1.0) as server:
        relay = sqlite_site.relay(server.url, timeout_seconds=0.2)
        to_the_end(relay)
        assert ids_of(server) == {"e-0"}
        assert (relay.delivery.delivered, relay.delivery.failed) == (1, 1)


def test_redirect_is_not_a_delivery(sqlite_site):
    sqlite_site.produce(1)
    with WebhookServer(lambda n: [200, 302, 301, 307][n % 4]) as server:
        to_the_end(sqlite_site.relay(server.url))
        assert len(server.asked) == 4
        assert not [each for each in server.asked if each[0] == "GET"]


@pytest.mark.parametrize("exits", [True, False])
def test_full_disk_repeats_no_alert_and_ends_only_bounded_runs(sqlite_site, monkeypatch, exits):
    sqlite_site.produce(1)
    stop, commits, commit = threading.Event(), [], SqliteWriter.commit

    def full_at_first(writer, *given):
        commits.append(given)
        if len(commits) < 3:
            raise StorageFull("as if")
        commit(writer, *given)
        stop.set()

    with WebhookServer() as server:
        monkeypatch.setattr(SqliteWriter, "commit", full_at_first)
        with pytest.raises(StorageFull) if exits else nullcontext():
            sqlite_site.relay(server.url).run(stop, exit_at_end=exits)
        assert len(server.accepted) == 1


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"HTTP/1.1 200 " + b"x" * 100_000,
        b"HTTP/1.1 429 No\r\nRetry-After: -9\r\n\r\n",
        b"\x00\xff",
    ],
    ids=lambda response: response[9:40].decode(errors="replace"),
)
def test_hostile_response_is_a_failed_delivery(sqlite_site, response):
    sqlite_site.produce(1)
    with WebhookServer(lambda n: response if n == 1 else 200) as server:
        relay = sqlite_site.relay(server.url)
        to_the_end(relay)
        assert (relay.delivery.delivered, relay.delivery.failed) == (1, 1)


def test_failing_receiver_delays_no_other(sqlite_site):
    for name in ("broken", "sound"):
        to_the_end(sqlite_site.relay(name=name))
    sqlite_site.produce()
    stop = threading.Event()
    with WebhookServer(lambda n: 500) as broken, WebhookServer() as sound:
        thread = threading.Thread(target=sqlite_site.relay(broken.url, name="broken").run, args=(stop,))
        thread.start()
        try:
            to_the_end(sqlite_site.relay(sound.url, name="sound"))
        finally:
            stop.set()
            thread.join()
        assert ids_of(sound) == mistakes(N_RECORDS)


def test_new_webhook_begins_with_the_records_to_come(sqlite_site):
    sqlite_site.produce(30)
    with WebhookServer() as server:
        to_the_end(sqlite_site.relay(server.url, name="new"))
        assert server.accepted == []
        sqlite_site.produce(30)
        to_the_end(sqlite_site.relay(server.url, name="new"))
        assert ids_of(server) == mistakes(60) - mistakes(30)


def test_two_relays_share_partitions_and_one_succeeds_the_other(sqlite_site):
    sqlite_site.produce()
    stops = [threading.Event(), threading.Event()]
    with WebhookServer() as server:
        threads = [threading.Thread(target=sqlite_site.relay(server.url).run, args=(stop,)) for stop in stops]
        for thread in threads:
            thread.start()
        stops[0].set()
        threads[0].join()
        sqlite_site.produce()
        deadline = time.monotonic() + patience(60)
        while ids_of(server) != mistakes(2 * N_RECORDS):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        stops[1].set()
        threads[1].join()


def test_records_deleted_before_reading_are_reported(sqlite_site, caplog):
    sqlite_site.produce(10)
    with WebhookServer() as server:
        to_the_end(sqlite_site.relay(server.url))
        sqlite_site.produce(30)
        for partition in range(PARTITIONS):
            _, end = sqlite_site.transport.bounds(sqlite_site.topic, partition)
            sqlite_site.transport.delete_before(sqlite_site.topic, partition, end - 3)
        to_the_end(sqlite_site.relay(server.url))
    assert "alerts may be lost" in caplog.text
    assert ids_of(server) == mistakes(10) | (mistakes(40) - mistakes(34))


def test_drifts_are_posted_from_their_topic(sqlite_site):
    sqlite_site.names |= {"signals_topic": "signals", "drift": {"reaction": "record"}}
    drifts = [{"id": f"drift-0-{n}", "type": "drift", "data": {"signal": "error"}} for n in range(3)]
    signals = [{"id": "s", "type": "promote", "data": {}}, *drifts]
    sqlite_site.transport.ensure_topics({"signals": PARTITIONS})
    to_the_end(sqlite_site.relay(on="drift"))
    sqlite_site.transport.produce([Output("signals", b"0", json.dumps(each).encode()) for each in signals])
    sqlite_site.produce()
    with WebhookServer(lambda _: 200) as server:
        to_the_end(sqlite_site.relay(server.url, on="drift"))
        assert ids_of(server) == {each["id"] for each in drifts}


def test_no_log_line_contains_the_urls_path_or_the_secret(sqlite_site, caplog):
    caplog.set_level("DEBUG")
    sqlite_site.produce(9)
    with WebhookServer(lambda n: 500 if n < 3 else 200) as server:
        to_the_end(sqlite_site.relay(server.url, secret="s3cret"))
    assert "answered 500" in caplog.text
    assert "3 delivered, 2 attempts failed" in caplog.text
    assert "a-token" not in caplog.text
    assert "s3cret" not in caplog.text
