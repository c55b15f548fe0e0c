"""What the process that serves asks of the C library's heap."""

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these thresholds")

_BATCHES = """
import resource
from service.workers.malloc_tuning import keep_freed_memory

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


def page_faults(**environment):
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", _BATCHES], env=inherited | environment, capture_output=True, check=True
    )
    return int(done.stdout)


def test_the_memory_of_a_batch_is_used_for_the_next():
    assert page_faults() < 100


def test_thresholds_of_the_environment_are_left_alone():
    assert page_faults(MALLOC_MMAP_THRESHOLD_="131072") > 10_000
