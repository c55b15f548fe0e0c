"""How peers are started, chosen and measured."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.measures import librdkafka, processes
from benchmarks.measures.base import ProcessFailed, Unavailable
from benchmarks.measures.peer_choice import best_batch, twice


class Peer:
    """Reaches a rate by the size of its transactions, and fails as often as told."""

    def __init__(self, rates, failures=()):
        self.rates = rates
        self.failures = list(failures)
        self.runs = []

    def __call__(self, batch):
        self.runs.append(batch)
        if batch in self.failures:
            self.failures.remove(batch)
            raise ProcessFailed("NOT_COORDINATOR")
        return self.rates[batch]


def test_the_fastest_transactions_are_chosen():
    assert best_batch(Peer({1: 5.0, 2: 9.0, 3: 7.0}), (1, 2, 3), "peer") == 2


def test_a_start_that_fails_once_is_repeated_and_told(capsys):
    peer = Peer({1: 5.0, 2: 9.0}, [2])
    assert best_batch(peer, (1, 2), "peer") == 2
    assert peer.runs == [1, 2, 2]
    assert "peer, 2 messages failed and is started once again: NOT_COORDINATOR" in capsys.readouterr().err


def test_transactions_that_a_peer_cannot_do_cost_it_no_others(capsys):
    peer = Peer({1: 5.0, 2: 9.0, 3: 7.0}, [2, 2])
    assert best_batch(peer, (1, 2, 3), "peer") == 3
    assert "does not work with transactions of 2 messages" in capsys.readouterr().err


def test_a_peer_that_never_works_fails():
    with pytest.raises(ProcessFailed, match="NOT_COORDINATOR"):
        best_batch(Peer({}, [1, 1, 2, 2]), (1, 2), "peer")


def test_a_second_failure_is_raised():
    def fail():
        raise ProcessFailed("again")

    with pytest.raises(ProcessFailed, match="again"):
        twice(fail, "peer")


def test_other_errors_are_not_tried_again():
    runs = []

    def fail():
        runs.append(1)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - its own
        twice(fail, "peer")
    assert runs == [1]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
class TestBareLoopInC:
    @pytest.fixture
    def command(self, tmp_path):
        try:
            return librdkafka.bare_loop(tmp_path)
        except Unavailable as reason:
            pytest.skip(str(reason))

    def test_it_compiles_without_warnings_and_names_its_arguments(self, command):
        done = subprocess.run(command[:1], capture_output=True, text=True, check=False, timeout=30)
        assert (done.returncode, done.stderr) == (
            1,
            "usage: bare_librdkafka LIBRARY ADDRESS INPUT OUTPUT GROUP BATCH VALUE_BYTES\n",
        )

    def test_the_library_of_the_wheel_has_all_functions_that_it_calls(self, command):
        library = ctypes.CDLL(command[1])
        called = {line.split(",")[1].strip() for line in _source() if line.startswith("    F(")}
        assert len(called) == 21
        assert not [name for name in called if not hasattr(library, name)]


def _source():
    return librdkafka.SOURCE.read_text(encoding="utf-8").splitlines()


def test_without_a_compiler_the_bare_loop_is_unavailable(monkeypatch, tmp_path):
    pytest.importorskip("confluent_kafka")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable):
        librdkafka.bare_loop(tmp_path / "elsewhere")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
class TestProcesses:
    def test_processor_time_is_that_of_the_process(self):
        before = processes.processor_seconds(os.getpid())
        times = os.times()
        assert before == pytest.approx(times.user + times.system, abs=0.1)

    def test_peak_memory_does_not_fall(self):
        before = processes.peak_mebibytes(os.getpid())
        block = bytearray(os.urandom(1 << 20) * 64)
        risen = processes.peak_mebibytes(os.getpid())
        del block
        assert before <= risen <= processes.peak_mebibytes(os.getpid())
        assert risen > 64
