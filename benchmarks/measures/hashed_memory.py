"""Print the megabytes that a hashed model takes once every weight of it was updated.

    hashed_memory.py BITS

A program for a fresh process.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from service.partition.factory import make_processor
from service.settings.load import Settings

_FEATURES = 4096
"""Of an event: few enough that what it takes itself does not count."""


def resident_bytes() -> int:
    """Read the resident set of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(bits: int) -> None:
    """Learn events that are mistakes, until all weights have moved."""
    before = resident_bytes()
    learner = make_processor(Settings(hash_bits=bits)).learner
    for first in range(0, 1 << bits, _FEATURES):
        x = dict.fromkeys(range(first, first + _FEATURES), 1.0)
        predicted, _ = learner.assess(x)
        learner.learn(x, not predicted)
    print((resident_bytes() - before) / 1e6)


if __name__ == "__main__":
    main(int(sys.argv[1]))
