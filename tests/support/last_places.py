"""What each learner is after a stream, to the last place. In: nothing. Out: a digest of each, as JSON.

    python -m tests.support.last_places

Two machines that compute alike print the same. No number of the streams comes from the C library.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from perceptron_core import AutoClassifier, to_bytes
from tests.support.learners import SEVERAL, TWO_CLASS

_EVENTS = 60
_WORDS = [f"word{k}" for k in range(80)]
_LABELS = ["ant", "bee", "cat"]
_OF_RIVER = "(schedule)"
"""Their learning rate is River's, which takes a power of the C library."""


def _numbers(chance: random.Random) -> dict[str, Any]:
    return {name: 3 * (chance.random() + chance.random() - 1) for name in "abcdef"}


def _words(chance: random.Random) -> dict[str, Any]:
    return dict.fromkeys(chance.choices(_WORDS, k=8), 1.0)


def _text(chance: random.Random) -> dict[str, Any]:
    return {"text": " ".join(chance.choices(_WORDS, k=8)), "links": chance.randrange(4)}


def _stream(make: Any) -> Iterator[tuple[dict[str, Any], int]]:
    chance = random.Random(7)
    for _ in range(_EVENTS):
        x = make(chance)
        yield x, sum(map(len, map(str, x.values()))) % 3 if make is _text else chance.randrange(3)


def digests() -> dict[str, str]:
    """Return a digest of each model and of the scores it gave."""
    made = {}
    for name, model in {**TWO_CLASS, **SEVERAL}.items():
        if name.endswith(_OF_RIVER):
            continue
        for make in (_numbers, _words):
            ours, predictions = model.clone(), []
            for x, y in _stream(make):
                predictions.append(ours.predict_proba_one(x) if name in SEVERAL else ours.score_one(x))
                ours.learn_one(x, (ours.classes or _LABELS)[y] if name in SEVERAL else y > 0)
            made[f"{name}{make.__name__}"] = _digest(ours, predictions)
    for make in (_numbers, _text):
        for several in (False, True):
            auto, predictions = AutoClassifier(hash_bits=10), []
            for x, y in _stream(make):
                predictions.append(auto.predict_proba_one(x))
                auto.learn_one(x, _LABELS[y] if several else y > 0)
            made[f"auto{make.__name__}_{several}"] = _digest(auto, predictions)
    return made


def _digest(model: Any, predictions: list[Any]) -> str:
    return hashlib.sha256(to_bytes(model) + repr(predictions).encode()).hexdigest()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests()))
