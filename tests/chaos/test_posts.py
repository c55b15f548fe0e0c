"""`kill -9` while clients post events and labels and repeat what was not answered: each is there once."""

import itertools
import json
import random
import threading
import time
from collections import Counter

import httpx
import pytest

from service.stream.partitioner import partition_for_key
from tests.chaos.presets import APART, HTTP, SHORT, sized
from tests.support.chaos_stream import PARTITIONS
from tests.support.perceptron_process import NO_CERTIFICATES

CLIENTS = 4
PAUSE_SECONDS = 0.01
"""Between two events of a client: the machine is to have time for the service."""
AGAIN = 0.2
"""How often a client repeats a request that was answered."""


class Client:
    """Posts an event and its label, again and again, each until it is acknowledged."""

    def __init__(self, number, places):
        self.acknowledged = {"/events": {}, "/labels": {}}
        self.statuses = Counter()
        self._number = number
        self._places = places
        self._random = random.Random(number)
        self._stop = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive(), "a request is still not acknowledged"
        if self._failure is not None:
            raise self._failure

    def _run(self):
        try:
            with httpx.Client(verify=NO_CERTIFICATES, timeout=30) as http:
                for count in itertools.count():
                    if self._stop.is_set():
                        return
                    event_id = f"{self._number}-{count}"
                    features = {"size": self._random.random(), "lang": self._random.choice(["en", "de"])}
                    self._deliver(http, "/events", {"id": event_id, "features": features})
                    self._deliver(http, "/labels", {"id": event_id, "label": features["size"] > 0.5})
                    time.sleep(PAUSE_SECONDS)
        except BaseException as error:  # noqa: BLE001 - raised again at the end
            self._failure = error

    def _deliver(self, http, path, message):
        response = self._until_acknowledged(http, path, message)
        self.acknowledged[path][message["id"]] = response
        if self._random.random() < AGAIN:
            again = self._until_acknowledged(http, path, message)
            assert again["repeated"]
            if path == "/events":
                assert (again["label"], again["score"]) == (response["label"], response["score"])

    def _until_acknowledged(self, http, path, message):
        """Send the same until it is acknowledged, each time to the next process."""
        for address in itertools.cycle(self._places):
            try:
                response = http.post(address() + path, json=message)
                self.statuses[response.status_code] += 1
                if response.status_code == httpx.codes.OK:
                    return response.json()
                assert response.status_code in {202, 421, 429, 503}, response.text
            except (httpx.TransportError, httpx.UnsupportedProtocol):  # dead, or yet to say where it is
                self.statuses["none"] += 1
            time.sleep(0.05)
        raise AssertionError("there is no place")


def n_responses(clients):
    return sum(client.statuses[httpx.codes.OK] for client in clients)


def parsed(records):
    return [json.loads(record.value) for record in records]


def all_records(stream, topic):
    return [record for partition in range(PARTITIONS) for record in stream.records(topic, partition)]


def assert_all_once(stream, clients):
    """Compare the topics with what was acknowledged."""
    settings = stream.settings
    acknowledged = {path: {} for path in ("/events", "/labels")}
    for client in clients:
        for path, responses in client.acknowledged.items():
            acknowledged[path] |= responses
    topics = {"/events": settings.events_topic, "/labels": settings.labels_topic}
    for path, topic in topics.items():
        found = Counter(message["id"] for message in parsed(all_records(stream, topic)))
        assert found == Counter(dict.fromkeys(acknowledged[path], 1))
    for record in all_records(stream, settings.events_topic):
        assert record.partition == partition_for_key(record.key, PARTITIONS)
    predictions = {
        m["id"]: m for m in parsed(all_records(stream, settings.predictions_topic)) if "score" in m
    }
    for name, response in acknowledged["/events"].items():
        committed = predictions[name]
        assert (response["label"], response["score"]) == (committed["label"], committed["score"])
    verdict = stream.verify()
    assert verdict["proved"], verdict["findings"]
    assert verdict["predictions"] == verdict["outcomes"] == len(predictions) == len(acknowledged["/events"])
    return len(predictions)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("n_services", [1, 2], ids=["alone", "two members"])
def test_acknowledged_records_survive_kills_exactly_once(open_chaos, start, force, n_services):
    stream = open_chaos(**sized(APART, force))
    n_kills = force.kills if force != SHORT else SHORT.kills // 2  # each takes ten seconds on Kafka
    moment, began = random.Random(), time.monotonic()
    services = [start(stream, **HTTP) for _ in range(n_services)]
    places = [lambda number=number: services[number].address() for number in range(n_services)]
    clients = [Client(number, places) for number in range(CLIENTS)]
    with clients[0], clients[1], clients[2], clients[3]:
        for kill in range(n_kills):
            killed = services[kill % n_services].ready()
            if kill % 4:  # amid the responses; or else while it takes over
                enough = n_responses(clients) + CLIENTS
                killed.eventually(lambda enough=enough: n_responses(clients) > enough)
                time.sleep(moment.uniform(0, 0.12))
            else:
                time.sleep(moment.uniform(0, 0.6))
            killed.kill()
            services[kill % n_services] = start(stream, **HTTP)
        for service in services:
            service.ready()
        time.sleep(1)
    assert [service.stop() for service in services] == [0] * n_services
    assert start(stream, "--exit-at-end").wait() == 0
    n_events = assert_all_once(stream, clients)
    statuses = sum((client.statuses for client in clients), Counter())
    print(f"{n_kills} kills in {time.monotonic() - began:.1f} s: {n_events} events, {dict(statuses)}")  # noqa: T201
    assert n_events > n_kills
