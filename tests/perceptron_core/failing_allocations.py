"""Lets each allocation of a call fail in turn, and continues using the objects.

    python -m tests.perceptron_core.failing_allocations CASE

Prints each step before the objects are used again, so that the last line names the one that crashed.
"""

from __future__ import annotations

import _testcapi
import sys
from collections.abc import Callable, Iterator
from typing import Any

from perceptron_core import (
    AROW,
    AutoClassifier,
    AveragedPerceptron,
    CharacterNaiveBayes,
    HashedClassifier,
    HoeffdingForest,
    NearestNeighbors,
    Perceptron,
    TextHasher,
    from_bytes,
    to_bytes,
)
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from tests.support.learners import SEVERAL, TWO_CLASS

QUIET = 4
"""Calls in a row without a failure after which all allocations of a call have been tried."""

EACH = 60
"""Allocations that are all tried; of later ones, which only reading and writing have, ever fewer."""

HASHED = {
    "hashed-averaged": HashedClassifier(AveragedPerceptron(), bits=6),
    "hashed-arow": HashedClassifier(AROW(), bits=6),
}
MIXTURES = {
    "auto": AutoClassifier(hash_bits=6, max_columns=4),
    "character-naive-bayes": CharacterNaiveBayes(hash_bits=6),
    "hoeffding-forest": HoeffdingForest(max_columns=4),
    "nearest-neighbors": NearestNeighbors(max_columns=4),
}
HASHERS: dict[str, dict[str, Any]] = {
    "hasher-words": {"ngrams": (1, 2)},
    "hasher-characters": {"analyzer": "chars", "ngrams": (1, 4)},
    "hasher-scripts": {"analyzer": "scripts", "ngrams": (1, 2)},
    "hasher-counts": {"bits": 22, "counts": True, "l2": True},
}
"""No pattern that `re` runs: CPython 3.11's own scanner gives up its text twice when memory runs out."""
TEXTS = ["short", "naïve Größe 語 " * 3, "win a prize now " * 200, "again"]

ATOMIC = LinearRule | MulticlassClassifier | HashedClassifier
"""Learners that a failed call leaves as they were. Those in plain Python may have learned half an example."""
NOT_ATOMIC = {"set weights", "learn rows", "learn texts"}
"""Calls that do one thing after the other, and so may have got half way."""

Call = Callable[[Any], object]


def say(step: str) -> None:
    """Name a step, at once."""
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


def calls_of(model: Any) -> dict[str, Call]:
    """Name the calls of a learner that are tried."""
    known, new = example(model, 0, 10), example(model, 5, 40)
    label = labels(model)[0]
    calls: dict[str, Call] = {
        "predict": lambda m: m.predict_one(new),
        "learn known names": lambda m: m.learn_one(known, label, 2.0),
        "learn new names": lambda m: m.learn_one(new, label, 2.0),
        "to_bytes": to_bytes,
    }
    if isinstance(model, MulticlassClassifier) and model.classes is None:
        calls["learn a new class"] = lambda m: m.learn_one(new, "new")
    if isinstance(model, Perceptron):
        calls["undo"] = lambda m: m.undo_one(known, 2.0)
        calls["set weights"] = lambda m: setattr(m, "weights", new)
    if isinstance(model, HashedClassifier):
        hasher = TextHasher(6)
        calls["learn rows"] = lambda m: m.learn_rows(hasher.transform_many(TEXTS), [True] * len(TEXTS))
        calls["learn texts"] = lambda m: m.predict_learn_texts(hasher, TEXTS, [False] * len(TEXTS))
    return calls


def example(model: Any, first: int, count: int) -> dict[Any, Any]:
    """Make an example of so many features."""
    hashed = isinstance(model, HashedClassifier)
    x: dict[Any, Any] = {k % 64 if hashed else f"f{k}": 1.0 + k % 3 for k in range(first, first + count)}
    if isinstance(model, AutoClassifier):
        x["text"] = f"naïve Größe 語彙, features from {first} to {count}"
    return x


def labels(model: Any) -> list[Any]:
    """Return labels that the learner takes."""
    if not isinstance(model, MulticlassClassifier):
        return [True, False]
    return [*(model.classes or ["ant", "bee", "cat"])]


def failures(call: Callable[[], object]) -> Iterator[int]:
    """Yield after each call in which an allocation failed, alone or with those that came next.

    Not all from it on: an interpreter that cannot even unwind (CPython 3.11) then tries without end.
    """
    for in_a_row in (1, 25):
        n = quiet = 0
        while quiet < QUIET:
            _testcapi.set_nomemory(n, n + in_a_row)
            try:
                call()
            except Exception:  # noqa: BLE001  NumPy and Python do not always say that it was memory
                quiet = 0
            else:
                quiet += 1
            finally:
                _testcapi.remove_mem_hooks()
            yield n
            n += 1 + max(n - EACH, 0) // 4 + (in_a_row > 1)


def go_on(model: Any, twin: Any) -> None:
    """Use both; they must say the same."""
    for turn in range(3):
        x, y = example(model, 7 * turn, 30), labels(model)[turn % len(labels(model))]
        assert model.predict_one(x) == twin.predict_one(x)
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert to_bytes(model) == to_bytes(twin)


def try_learner(untrained: Any) -> None:
    """Try all calls of a learner; afterwards it continues as one does that always had memory."""
    model = untrained.clone()
    for turn in range(4):
        model.learn_one(example(model, turn, 12), labels(model)[turn % 2])
    before = to_bytes(model)
    for name, call in calls_of(model).items():
        after = from_bytes(before)
        call(after)
        sound = (before, to_bytes(after))
        tried = [from_bytes(before)]
        for n in failures(lambda: call(tried[0])):  # noqa: B023  called before the next
            say(f"{name}, allocation {n}")
            state = to_bytes(tried[0])
            assert state in sound or name in NOT_ATOMIC or not isinstance(model, ATOMIC), "a state in between"
            go_on(tried[0], from_bytes(state))
            tried[0] = from_bytes(before)
    for n in failures(lambda: from_bytes(before)):
        say(f"from_bytes, allocation {n}")
        assert to_bytes(from_bytes(before)) == before


def try_hasher(name: str) -> None:
    """Try the calls of a hasher; afterwards it says of each text what it did before."""
    parameters = {"bits": 10} | HASHERS[name]
    expected = [TextHasher(**parameters).transform_one(text) for text in TEXTS]
    calls: dict[str, Call] = {text[:9]: lambda h, text=text: h.transform_one(text) for text in TEXTS}
    calls["many"] = lambda h: h.transform_many(TEXTS)
    for what, call in calls.items():
        hasher = [TextHasher(**parameters)]
        for n in failures(lambda: call(hasher[0])):  # noqa: B023  called before the next
            say(f"transform {what!r}, allocation {n}")
            assert [hasher[0].transform_one(text) for text in TEXTS] == expected
            hasher[0] = TextHasher(**parameters)


CASES: dict[str, Callable[[], None]] = {
    **{
        name: lambda learner=learner: try_learner(learner)
        for name, learner in {**TWO_CLASS, **SEVERAL, **HASHED, **MIXTURES}.items()
    },
    **{name: lambda name=name: try_hasher(name) for name in HASHERS},
}

if __name__ == "__main__":
    for case in sys.argv[1:]:
        say(case)
        CASES[case]()
