"""What the system knows of a process: its processor time and its memory."""

from __future__ import annotations

import os
from pathlib import Path

from .base import Unavailable

_PROC = Path("/proc")


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far: of all its threads, in the system's code too."""
    # The name of the program may have blanks and brackets in it; the numbers begin after its last bracket.
    numbers = (_PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def peak_mebibytes(pid: int) -> float:
    """Return the most memory that a process has had in use (its resident set) since it began."""
    lines = (_PROC / str(pid) / "status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def require() -> None:
    """Raise `Unavailable` where a system does not tell these."""
    if not (_PROC / "self" / "status").exists():
        raise Unavailable("this system has no /proc to read a process's time and memory from")
