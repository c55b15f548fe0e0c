"""Several processes on one SQLite stream: sharing, dying, freezing."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.errors import TransportUnavailable
from service.stream import Output
from service.transport.sqlite import SqliteTransport

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[4]
DEADLINE_SECONDS = 60.0
NEVER_SECONDS = 3600.0  # a session that does not end while the test runs


class Processes:
    """Members in processes of their own, on one stream of two partitions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.started: list[subprocess.Popen[str]] = []
        self.transport = SqliteTransport(path, busy_timeout_seconds=0.5)
        self.transport.ensure_topics({"events": 2, "predictions": 2})

    def start(self, session_seconds: float, name: str, *mode: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.sqlite_member", str(self.path), "group"]
        process = subprocess.Popen(
            [*command, str(session_seconds), name, *mode],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def produce(self, first: int, count: int) -> None:
        """Write numbered events, to the two partitions in turn."""
        numbers = range(first, first + count)
        self.transport.produce([Output("events", b"%d" % n, b"", partition=n % 2) for n in numbers])

    def predictions(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(r.key, r.value) for p in range(2) for r in self.transport.read("predictions", p)]

    def close(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()
        self.transport.close()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path / "stream.db")
    yield started
    started.close()


def eventually(claim: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.02)


def says(process: subprocess.Popen[str], *words: str) -> str:
    """Read what the process prints up to a line that begins with one of the words."""
    assert process.stdout
    for line in process.stdout:
        if line.split()[0] in words:
            return line.strip()
    raise AssertionError(f"the process ended without saying any of {words}")


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("commit\n")
    process.stdin.flush()


def test_two_processes_share_a_group_and_lose_and_repeat_nothing(processes: Processes) -> None:
    workers = [processes.start(NEVER_SECONDS, name) for name in ("one", "two")]
    for worker in workers:
        says(worker, "assigned")
    processes.produce(0, 300)
    eventually(lambda: len({value for _, value in processes.predictions()}) == 2)
    workers[0].terminate()
    processes.produce(300, 300)
    eventually(lambda: len(processes.predictions()) >= 600)
    assert workers[0].wait(DEADLINE_SECONDS) == 0
    assert Counter(key for key, _ in processes.predictions()) == {b"%d" % n: 1 for n in range(600)}


def test_killed_amid_commits_a_process_leaves_all_of_a_commit_or_nothing(processes: Processes) -> None:
    # The sessions never end: each restart gets the partitions because the system knows its predecessor dead.
    events = 20_000
    processes.produce(0, events)
    moment = random.Random(7)
    for life in range(10):
        worker = processes.start(NEVER_SECONDS, f"life-{life}")
        says(worker, "assigned")
        time.sleep(moment.uniform(0, 0.05))
        worker.kill()
    assert len(processes.predictions()) < events, "all was done before the last kill"
    processes.start(NEVER_SECONDS, "last")
    eventually(lambda: len(processes.predictions()) >= events)
    assert Counter(key for key, _ in processes.predictions()) == {b"%d" % n: 1 for n in range(events)}
    with sqlite3.connect(processes.path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert sum(n for (n,) in connection.execute("SELECT next_offset FROM committed")) == events
    connection.close()


def test_what_a_killed_process_held_goes_to_a_running_one_at_once(processes: Processes) -> None:
    killed, survivor = (processes.start(NEVER_SECONDS, name) for name in ("killed", "survivor"))
    for worker in (killed, survivor):
        says(worker, "assigned")
    eventually(lambda: len(list(processes.path.parent.glob("*-member-*"))) == 2)
    killed.kill()
    processes.produce(0, 10)
    eventually(lambda: len(processes.predictions()) == 10)
    assert len(list(processes.path.parent.glob("*-member-*"))) == 1, "the dead one's lock is cleared away"


def frozen(processes: Processes, process: subprocess.Popen[str]) -> None:
    """Stop the process, but not while its heartbeat holds the file's write lock: then all would wait."""
    while True:
        process.send_signal(signal.SIGSTOP)
        try:
            processes.produce(0, 1)
        except TransportUnavailable:
            process.send_signal(signal.SIGCONT)
        else:
            return


def test_a_process_frozen_until_another_took_over_can_write_nothing(processes: Processes) -> None:
    sleeper = processes.start(2.0, "sleeper", "obedient")
    says(sleeper, "assigned")
    tell(sleeper)
    assert says(sleeper, "committed", "fenced") == "committed"
    frozen(processes, sleeper)
    heir = processes.start(2.0, "heir")
    assert says(heir, "assigned") == "assigned 0 1"
    processes.produce(0, 20)
    eventually(lambda: sum(value == b"heir" for _, value in processes.predictions()) >= 20)
    before = processes.predictions()
    sleeper.send_signal(signal.SIGCONT)
    tell(sleeper)
    assert says(sleeper, "committed", "fenced") == "fenced"
    assert says(sleeper, "lost", "revoked") == "lost 0 1"
    assert processes.predictions() == before


def test_a_process_frozen_past_its_session_can_write_nothing_though_nobody_took_over(
    processes: Processes,
) -> None:
    sleeper = processes.start(1.0, "sleeper", "obedient")
    says(sleeper, "assigned")
    frozen(processes, sleeper)
    time.sleep(1.5)
    sleeper.send_signal(signal.SIGCONT)
    tell(sleeper)
    assert says(sleeper, "committed", "fenced") == "fenced"
    assert processes.predictions() == []
    assert says(sleeper, "assigned") == "assigned 0 1"
    tell(sleeper)
    assert says(sleeper, "committed", "fenced") == "committed"
