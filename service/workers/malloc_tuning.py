"""The C library's heap, set for a process that allocates and frees a batch of records many times a second."""

from __future__ import annotations

import ctypes
import os
from typing import Final

# Parameters of glibc's `mallopt` (malloc.h), and what a user sets instead.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_USERS_OWN: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")

_KEPT_BYTES: Final = 64 * 2**20
"""Most free memory that is kept: records and answers of two large batches."""
_LARGEST_BYTES: Final = 32 * 2**20
"""Up to here blocks come from the heap; glibc allows no more."""


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
