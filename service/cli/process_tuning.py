"""Python's garbage collector, the C library's heap and thread switches, set for the process that serves."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Final

_YOUNG: Final = 10_000
"""New objects between two collections of the young ones; one batch makes more than Python's 700 to 2,000."""
_TURN_SECONDS: Final = 0.0005
"""For how long a thread keeps the interpreter from others: a request needs it several times."""

# Parameters of glibc's `mallopt` (malloc.h), and what a user sets instead.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_USERS_OWN: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")

_KEPT_BYTES: Final = 64 * 2**20
"""Most free memory that is kept: records and answers of two large batches."""
_LARGEST_BYTES: Final = 32 * 2**20
"""Up to here blocks come from the heap; glibc allows no more."""


def tune_process() -> None:
    """Set this whole process for the loop: only `serve` calls it, not a program that imports the classes."""
    collect_less_often()
    keep_freed_memory()
    sys.setswitchinterval(_TURN_SECONDS)


def collect_less_often() -> None:
    """Freeze existing objects (`gc.freeze`) and collect new ones less often.

    Examples that wait for labels hold no cycles, yet each full collection goes through all of them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)


def keep_freed_memory() -> None:
    """Keep freed memory for the next batch instead of returning it to the system, which would clear it again.

    Clearing it was 2 % of the processor time in a backlog. Does nothing where the C library is not glibc,
    or where the environment sets its thresholds.
    """
    if any(name in os.environ for name in _USERS_OWN):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
