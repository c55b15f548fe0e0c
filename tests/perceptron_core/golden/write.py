"""Writes a file for each two-class learner as this release does: once, and for later releases to read.

    python -m tests.perceptron_core.golden.write

A file that exists stays: what was released is not rewritten.
"""

from __future__ import annotations

from pathlib import Path

from perceptron_core import to_bytes
from perceptron_core.base.binary import BinaryClassifier
from tests.support.binary_learners import LEARNERS, learn

FOLDER = Path(__file__).parent
STREAM = [
    ({"text=win": 1.0, "text=now": 2.0}, True),
    ({"text=now": 1.0, "length": 0.3}, False),
    ({"text=win": 1.0, 7: -1.5}, True),
    ({("a", 1): 0.1, "length": -0.7}, False),
    ({"text=now": 3.0, "naïve": 0.2}, True),
    ({"text=win": 0.1}, False),
]
"""What each of them has learned."""


def taught(name: str) -> BinaryClassifier:
    """Return a learner that has learned the stream."""
    model: BinaryClassifier = learn(LEARNERS[name].clone(), STREAM)
    return model


if __name__ == "__main__":
    for name in LEARNERS:
        path = FOLDER / f"{name}.bin"
        if not path.exists():
            path.write_bytes(to_bytes(taught(name)))
