"""No room left for the SQLite file: a word about it, and once there is room everything is done once."""

import contextlib
import resource
import shutil
import subprocess
import sys

import pytest

from tests.chaos.presets import AMONG_EVENTS, HTTP, hours_ago_ms
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import ChaosStream
from tests.support.exactly_once import assert_exactly_once

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits a running process, mounts a disk")
DISK_BYTES = 8 * 1024 * 1024
TRIES_AGAIN = "trying again in"


@pytest.fixture
def small_disk(tmp_path):
    """Return a disk of a few megabytes; only the superuser may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"no small disk may be mounted: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@contextlib.contextmanager
def stream_in(folder):
    stream = ChaosStream(f"sqlite:///{folder}/stream.db", **AMONG_EVENTS, **HTTP)
    with contextlib.closing(stream):
        yield stream


def log():
    return list(chaos_log(500, seed=31, start_ms=hours_ago_ms(100)))


def fill(file, size):
    with contextlib.suppress(OSError):
        while file.write(bytes(size)):
            pass


def complains(service, words):
    return service.readiness() == 503 and words in service.stderr and TRIES_AGAIN in service.stderr


def finish(stream, service):
    service.eventually(lambda: service.readiness() == 200)
    assert service.stop() == 0
    again = service.again("--exit-at-end", http="")
    assert again.wait() == 0
    assert_exactly_once(stream)


def test_after_a_disk_was_full_everything_is_done_once(small_disk, start):
    with stream_in(small_disk) as stream:
        service = start(stream).ready()
        filler = small_disk / "filler"
        stream.produce(log()[:600])
        with filler.open("wb", buffering=0) as file:
            for size in (65_536, 512):
                fill(file, size)
        assert shutil.disk_usage(small_disk).free < 4096
        service.eventually(lambda: complains(service, "no room left for"))
        filler.unlink()
        stream.produce(log()[600:])
        finish(stream, service)


def test_after_a_file_could_not_grow_everything_is_done_once(tmp_path, start):
    with stream_in(tmp_path) as stream:
        service = start(stream).ready()
        soft, hard = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (100_000, hard))
        stream.produce(log())
        service.eventually(lambda: complains(service, "cannot read or write"))
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
        finish(stream, service)
