"""Several processes on one SQLite stream: one owns a group, the others wait for it, write and read."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from service.stream.protocol import Output
from service.stream.sqlite import SqliteTransport

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[4]
DEADLINE_SECONDS = 60.0


class Processes:
    """Members in processes of their own, on one stream of two partitions."""

    def __init__(self, path):
        self.path = path
        self.started = []
        self.transport = SqliteTransport(path)
        self.transport.ensure_topics({"events": 2, "predictions": 2})

    def start(self, name):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.sqlite_member", str(self.path), "group", name],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def produce(self, first, count):
        """Write numbered events, to the two partitions in turn."""
        numbers = range(first, first + count)
        self.transport.produce([Output("events", b"%d" % n, b"", partition=n % 2) for n in numbers])

    def predictions(self):
        return [(r.key, r.value) for p in range(2) for r in self.transport.read("predictions", p)]

    def close(self):
        for process in self.started:
            process.kill()
            process.communicate()
        self.transport.close()


@pytest.fixture
def processes(tmp_path):
    started = Processes(tmp_path / "stream.db")
    yield started
    started.close()


def eventually(claim):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.02)


def says(process, *words):
    """Read what the process prints up to a line that begins with one of the words."""
    assert process.stdout
    for line in process.stdout:
        if line.split()[0] in words:
            return line.strip()
    raise AssertionError(f"the process ended without saying any of {words}")


def test_a_waiting_process_names_the_owner_and_goes_on_after_it(processes):
    owner = processes.start("owner")
    says(owner, "assigned")
    heir = processes.start("heir")
    assert f"in use by process {owner.pid} on " in says(heir, "warning")
    processes.produce(0, 300)
    eventually(lambda: len(processes.predictions()) >= 150)
    owner.terminate()
    assert says(heir, "assigned") == "assigned 0 1"
    processes.produce(300, 300)
    eventually(lambda: len(processes.predictions()) >= 600)
    assert owner.wait(DEADLINE_SECONDS) == 0
    assert Counter(key for key, _ in processes.predictions()) == {b"%d" % n: 1 for n in range(600)}
    assert {value for _, value in processes.predictions()} == {b"owner", b"heir"}


def test_a_frozen_owner_stays_the_owner(processes):
    sleeper = processes.start("sleeper")
    says(sleeper, "assigned")
    sleeper.send_signal(signal.SIGSTOP)
    heir = processes.start("heir")
    says(heir, "warning")
    sleeper.send_signal(signal.SIGCONT)
    processes.produce(0, 20)
    eventually(lambda: len(processes.predictions()) >= 20)
    assert {value for _, value in processes.predictions()} == {b"sleeper"}
