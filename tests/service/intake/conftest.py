import itertools
import json
import threading
import time

import pytest

from service.errors import TransactionFailed
from service.intake.partition import PartitionIntake
from service.intake.submissions import SubmissionReader, Ticket
from service.stream.protocol import Record
from tests.service.building import Feed, settings

TOPICS = ("events", "labels")
NO_LIMIT = dict.fromkeys(TOPICS, 2**20)
SECONDS = 10.0


class SlowWriter:
    """A writer whose commits continue until they are told how to end."""

    def __init__(self):
        self.committed = []
        self.under_way = threading.Event()
        self.is_closed = False
        self._may_end = threading.Event()
        self._error = None

    def commit(self, outputs, offsets):
        assert not offsets
        self.under_way.set()
        assert self._may_end.wait(SECONDS)
        if self._error is not None:
            raise self._error
        self.committed += outputs

    def end(self, error=None):
        """Let commits end, with this error if there is one."""
        self._error = error
        self._may_end.set()

    def close(self):
        self.is_closed = True


class Scene:
    """An intake, and what the loop does for it: by hand."""

    def __init__(self, **given):
        self.settings = settings(**given)
        self.feed = Feed(**given)
        self.read = SubmissionReader(self.settings)
        self.writer = SlowWriter()
        self.intake = PartitionIntake(0, self.feed.processor, self.settings)
        self._offsets = itertools.count()

    def _submit(self, read, message):
        ticket = Ticket(read(json.dumps(message).encode()))
        self.intake.submit([ticket], max_open=100)
        return ticket

    def event(self, message):
        return self._submit(self.read.event, message)

    def label(self, event_id, label):
        return self._submit(self.read.label, {"id": event_id, "label": label})

    def open(self, writer=None, limits=NO_LIMIT):
        """Do what the loop does when somebody waits; the writer's commits end at once if none is given."""
        if writer is None:
            writer = self.writer = SlowWriter()
            writer.end()
        self.intake.fence(writer, dict.fromkeys(TOPICS, 0), limits)
        self.intake.open()
        return self

    def process(self, *outputs, at_seconds=0):
        """Process records, and commit them."""
        time_ms = at_seconds * 1000
        records = [Record(o.topic, 0, next(self._offsets), time_ms, o.key, o.value) for o in outputs]
        outputs = self.feed.processor.process_batch(records).outputs
        self.intake.committed(records, outputs)

    def process_all(self):
        """Process what was appended since the last time."""
        appended, self.writer.committed = self.writer.committed, []
        self.process(*appended)

    def fail(self):
        """Let the append that is under way fail."""
        self.writer.end(TransactionFailed("the stream said no"))


def eventually(claim):
    deadline = time.monotonic() + SECONDS
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def scene():
    return Scene()
