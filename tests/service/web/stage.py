"""A service without its loop: what tests feed it is learned, committed and served at once."""

import contextlib

import httpx
from prometheus_client import CollectorRegistry

from service.errors import TransactionFailed
from service.monitoring.health import Health, State
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.web.app import make_app
from service.web.server import http_server
from tests.service.building import Feed
from tests.support.speed import patience

ANY_PORT = "127.0.0.1:0"


class Stage:
    """A model that learns what it is fed, after a real HTTP server."""

    def __init__(self, partitions=(0,), **given):
        settings = {"http": ANY_PORT} | given
        self.settings = Settings(**settings)
        self.metrics, self.health = Metrics(CollectorRegistry()), Health()
        self.health.become(State.READY)
        self.live = LiveModels(self.settings)
        self.live.n_partitions = max(partitions, default=0) + 1
        learning = {name: value for name, value in given.items() if not name.startswith("http")}
        self.feeds = {partition: Feed(**learning) for partition in partitions}
        self.models = {p: self.live.open(p, feed.processor) for p, feed in self.feeds.items()}
        for partition, feed in self.feeds.items():
            feed.processor.observe = self.metrics.watch(partition, feed.processor.learner)
            self.publish(partition)
            self.open_intake(partition)
        self.appended = []
        """What was appended by way of the API, in order."""
        self.holds_back = self.fails = False
        """Whether what is appended is not processed; whether appends fail."""

    def open_intake(self, partition):
        """Do what the loop does for an intake that somebody waits for."""
        intake = self.live.intakes.get(partition)
        topics = self.settings.events_topic, self.settings.labels_topic
        intake.fence(Appender(self, partition), dict.fromkeys(topics, 0), dict.fromkeys(topics, 2**20))
        intake.open()

    def __call__(self, *messages, partition=0, **where):
        """Learn messages, a batch each, and commit them."""
        feed = self.feeds[partition]
        for message in messages:
            record = feed.record(message, **where)
            with self.models[partition].learning:
                outputs = feed.processor.process_batch([record]).outputs
            self.publish(partition, [record], outputs)

    def publish(self, partition=0, records=(), outputs=()):
        """Publish what a partition has committed now."""
        state = self.metrics.state_of(partition, self.feeds[partition].processor)
        self.metrics.publish(partition, state)
        self.models[partition].committed(state, records, outputs)

    @contextlib.contextmanager
    def served(self, address=ANY_PORT, **headers):
        """Serve it; return a client."""
        app = make_app(self.settings, self.health, self.metrics, self.live)
        with (
            http_server(app, address) as url,
            httpx.Client(base_url=url, headers=headers, timeout=patience(30)) as client,
        ):
            yield client


class Appender:
    """The writer of an intake: what it commits is learned at once."""

    def __init__(self, stage, partition):
        self._stage, self._partition = stage, partition

    def commit(self, outputs, offsets):
        assert not offsets
        if self._stage.fails:
            raise TransactionFailed("the stream said no")
        for output in outputs:
            assert output.partition == self._partition
            self._stage.appended.append(output)
            if not self._stage.holds_back:
                where = {"topic": output.topic, "key": output.key, "headers": output.headers}
                self._stage(output.value, partition=self._partition, **where)

    def close(self):
        pass
