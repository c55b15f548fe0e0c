"""What the process that serves asks of Python's collector and of the C library's heap."""

import gc
import os
import platform
import subprocess
import sys

import pytest

from service.cli.commands.serve import collect_less_often

_BATCHES = """
import resource
from service.cli.commands.serve import keep_freed_memory

def batch():
    blocks = [bytearray(262_144) for _ in range(64)]
    at_end = bytearray(1000)
    del blocks

keep_freed_memory()
batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.fixture
def _collector_restored():
    before = gc.get_threshold()
    gc.unfreeze()  # what tests/conftest.py has frozen; the test freezes it again
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_collector_restored")
def test_a_batch_of_examples_causes_no_look_at_what_is_kept_or_imported():
    collect_less_often()
    assert gc.get_freeze_count() > 10_000
    kept = [[n] for n in range(1000)]
    before = gc.get_stats()[0]["collections"]
    kept += [[n] for n in range(1000)]
    assert gc.get_stats()[0]["collections"] == before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these thresholds")
@pytest.mark.parametrize(
    ("given", "least", "most"), [({}, 0, 100), ({"MALLOC_MMAP_THRESHOLD_": "131072"}, 10_000, 10**6)]
)
def test_the_memory_of_a_batch_is_kept_unless_the_environment_sets_thresholds(given, least, most):
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", _BATCHES], env=inherited | given, capture_output=True, check=True
    )
    assert least <= int(done.stdout) < most
