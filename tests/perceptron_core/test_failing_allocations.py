"""Whatever allocation fails in a call, the objects continue as if the call had not been made."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perceptron_core import COMPILED
from tests.support.learners import SEVERAL, TWO_CLASS

ROOT = Path(__file__).parents[2]
HASHING = ["hashed-averaged", "hashed-arow", "hasher-words", "hasher-characters", "hasher-counts"]
VARIANTS = [name for name in {**TWO_CLASS, **SEVERAL} if "(" in name and "full" not in name]
"""Whose state has the form of the default's."""
CASES = [
    *sorted({*TWO_CLASS, *SEVERAL} - {*VARIANTS}),
    "auto",
    "character-naive-bayes",
    "hoeffding-forest",
    "nearest-neighbors",
    *HASHING,
]
PARTS = [pytest.param(CASES[start::8], id=f"part {start}") for start in range(8)]
AGAIN = [pytest.param(VARIANTS[start::4], id=f"variants {start}") for start in range(4)]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("_testcapi") is None,
        reason="this Python has no _testcapi to fail allocations",
    ),
    pytest.mark.skipif(not COMPILED, reason="interpreted, every addition allocates: memory is Python's own"),
]


@pytest.mark.timeout(1000)  # ten seconds of processor time each; other tests want it as well
@pytest.mark.parametrize("cases", [*PARTS, *AGAIN])
def test_learners_are_unchanged_after_any_failing_allocation(cases):
    # In processes of their own, so that a crash names its step. The debugging allocator sees what is written
    # beyond an array's end.
    environment = {"PYTHONMALLOC": "debug"} | os.environ
    done = subprocess.run(
        [sys.executable, "-m", "tests.perceptron_core.failing_allocations", *cases],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, "\n".join([*done.stdout.splitlines()[-3:], done.stderr[-3000:]])
