"""Whatever stands in a sealed file, reading it gives a model that works, or DamagedError.

PERCEPTRON_FUZZ_STATES says how many states are made at random, PERCEPTRON_FUZZ_SEED which ones. The machine
code checks no bounds: `make test-sanitized` runs this with a compiler that does.
"""

import math
import os
import random
from contextlib import suppress
from functools import cache

import pytest

from perceptron_core import (
    AROW,
    AutoClassifier,
    AveragedPerceptron,
    BatchPerceptron,
    CoinBetting,
    DamagedError,
    HashedClassifier,
    LearnerError,
    NormalizedAdaGrad,
    StructuredPerceptron,
    from_bytes,
    to_bytes,
)
from perceptron_core.formats.packed import pack, seal, unpack
from perceptron_core.linear.multiclass import MulticlassClassifier
from tests.support.learners import SEVERAL, TWO_CLASS

INPUTS = int(os.environ.get("PERCEPTRON_FUZZ_STATES", "2000"))
SEED = int(os.environ.get("PERCEPTRON_FUZZ_SEED", "0"))
_SEAL_BYTES = 34

MODELS = {
    **TWO_CLASS,
    **SEVERAL,
    **{f"hashed-{type(each).__name__}": HashedClassifier(each, bits=4)
       for each in (AROW(), AveragedPerceptron(), CoinBetting(), NormalizedAdaGrad())},
    "auto": AutoClassifier(hash_bits=6, max_columns=4),
    "auto-several": AutoClassifier(["ant", "bee", "cow"], hash_bits=6, max_columns=3),
    "structured": StructuredPerceptron(),
    "batch": BatchPerceptron(),
}  # fmt: skip
SLOWEST = ("auto-several", "mixture(of any)")
SLOW = ("auto", "full", "mixture", "voted", "kernel", "structured", "batch")
"""Models that get a third as many states as others, the slowest a ninth: an event takes them longer."""
SHARES = {name: 1 if name in SLOWEST else 3 if any(part in name for part in SLOW) else 9 for name in MODELS}
STATES = {name: INPUTS * share // sum(SHARES.values()) + 1 for name, share in SHARES.items()}


@cache
def events(name):
    """Return 100 events that a model can take, and their labels."""
    return [*_events(name)]


def _events(name):
    model, chance = MODELS[name], random.Random(name)
    several = isinstance(model, MulticlassClassifier) or name == "auto-several"
    labels = (getattr(model, "classes", None) or ["ant", "bee"]) if several else [True, False]
    for turn in range(100):
        label = labels[turn % len(labels)]
        if name == "structured":
            yield [[chance.choice("abc")], [chance.choice("abc")]], ["D", "N" if turn % 2 else "V"]
        elif name.startswith("hashed"):
            yield {chance.randrange(16): chance.gauss(0, 1), 5: 1.0}, label
        elif name.startswith("auto"):
            x = {"a": chance.gauss(0, 1), "b": turn % 7, "c": -1.5, "d": None, "e": True}
            yield (x, {"text": f"w{turn % 5} and more"}, {"a": 1.0, "z": 3.0})[turn % 3], label
        else:
            yield {"a": 1.0, chance.choice("bcd"): chance.gauss(0, 1)}, label


def use(model, name):
    """Let a model do all it can, for 100 events; continue from what was written down in between."""
    for turn, (x, y) in enumerate(events(name)):
        if turn % 10 == 0 or name == "batch":
            model.predict_one(x)
        if name != "batch":
            model.learn_one(x, y)
        if turn in {0, 99}:
            look(model, name, x)
            model = from_bytes(to_bytes(model))


def look(model, name, x):
    """Ask a model for what commands show of it."""
    for what in ("weights", "bias", "variances", "experts", "expert_statuses", "candidates", "leader"):
        getattr(model, what, None)
    if name == "structured":
        model.transitions  # noqa: B018  computed
        return
    model.predict_proba_one(x)
    if name.startswith("auto"):
        model.explain(x, 0)
        model.prediction_context()
    elif name != "batch":
        model.debug_one(x)


@cache
def body(name):
    """Return a model that learned a little as it is written, unpacked."""
    model = MODELS[name].clone()
    stream = events(name)[:20]
    if name == "batch":
        model.fit(*zip(*stream, strict=True))
    for x, y in stream if name != "batch" else ():
        model.learn_one(x, y)
    return unpack(to_bytes(model)[_SEAL_BYTES:])


NOT_FINITE = (math.inf, -math.inf, math.nan)
NUMBERS = (0, 1, -1, -2, 2, 63, 64, 255, 1 << 31, (1 << 53) + 1, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1)
DOUBLES = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-200, 1e100, -1e100, 1e308, -1e308, *NOT_FINITE)
ODD = (None, True, False, "", "a", "ant", b"", bytes(8), (), (0,), {}, {"a": 1.0}, ((),), {"a": {"a": 0.5}})


def changed(value, chance):
    """Return a plain value with one thing in it changed."""
    inside = isinstance(value, dict | tuple) and value and chance.random() < 0.85
    if inside and isinstance(value, dict):
        name = chance.choice([*value])
        return {each: changed(inner, chance) if each == name else inner for each, inner in value.items()}
    if inside:
        at = chance.randrange(len(value))
        return (*value[:at], changed(value[at], chance), *value[at + 1 :])
    kinds = {
        bool: [_other], int: [_number, _number, _other], float: [_double, _double, _other],
        bytes: [_bytes, _bytes, _other], tuple: [_length, _length, _other], dict: [_keys, _keys, _other],
    }  # fmt: skip
    return chance.choice(kinds.get(type(value), [_other]))(value, chance)


def _number(value, chance):
    return max(-(1 << 63), min(chance.choice((*NUMBERS, -value, value + 1, value * 2)), (1 << 64) - 1))


def _double(value, chance):
    return chance.choice((*DOUBLES, -value, value * 2, value * 1e30))


def _other(value, chance):
    return chance.choice(({"a": value}, (value,), (value, value), *ODD, *NUMBERS, *DOUBLES))


def _bytes(value, chance):
    at = 8 * chance.randrange(len(value) // 8 + 1)
    other = (
        pack(chance.choice(DOUBLES))[1:] if chance.random() < 0.5 else chance.randbytes(chance.choice((4, 8)))
    )
    return chance.choice((
        value[:at], value[at:], value[:-1], value + other, value + other * 300, value * 2,
        value[:at] + other + value[at + len(other) :],
    ))  # fmt: skip


def _length(value, chance):
    at = chance.randrange(len(value) + 1)
    inner = value[min(at, len(value) - 1)] if value else chance.choice(ODD)
    return chance.choice((
        value[:at], value[at:], value[::-1], value + value, (*value, inner), value * 40,
        value[:at] + value[at + 1 :], tuple(chance.sample(value, len(value))),
    ))  # fmt: skip


def _keys(value, chance):
    names = [*value]
    name = chance.choice(names) if names else "a"
    inner = value.get(name, 0.5)
    without = {each: kept for each, kept in value.items() if each != name}
    new = chance.choice(("new", "", "a", 0, -1, 1 << 40, None, True, math.nan, ("a", 1), b"x"))
    return chance.choice((
        without, {**without, new: inner}, {**value, new: inner},
        {**value, **{f"n{k}": inner for k in range(300)}}, dict(reversed(value.items())),
    ))  # fmt: skip


@pytest.mark.timeout(200 + INPUTS // 20)
@pytest.mark.parametrize("name", MODELS)
def test_changed_state_is_damaged_or_works(name):
    cls, params, state = body(name)
    for number in range(STATES[name]):
        chance = random.Random(f"{SEED} {name} {number}")
        other = state
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            other = changed(other, chance)
        written = seal(b"perceptron-model", 1, pack([cls, params, other]))
        try:
            model = from_bytes(written)
        except DamagedError:
            continue
        try:
            use(model, name)
        except Exception as error:
            error.add_note(f"PERCEPTRON_FUZZ_SEED={SEED}, state {number}: {other}")
            raise


@pytest.mark.parametrize("name", MODELS)
def test_body_with_anything_changed_is_damaged_or_a_model(name):
    for number in range(STATES[name]):
        chance = random.Random(f"{SEED} {name} {number}")
        with suppress(DamagedError):
            from_bytes(seal(b"perceptron-model", 1, pack(changed(body(name), chance))))


def hostile(**parts):
    """Return a sealed `auto` model of which some parts are others: named by where they are in its state."""
    cls, params, state = body("auto")
    for path, value in parts.items():
        *outer, last = path.split("__")
        holder = state = dict(state)
        for name in outer:
            holder[name] = dict(holder[name])
            holder = holder[name]
        holder[last] = value(holder[last])
    return seal(b"perceptron-model", 1, pack([cls, params, state]))


@pytest.mark.parametrize(
    "parts",
    [
        {"losses": lambda losses: losses * 400},
        {"groups": lambda groups: groups * 9},
        {"groups": lambda groups: (*groups, "more")},
        {"labels": lambda _: ("ant",) * 3},
        {"leader": lambda _: -1},
        {"n_updates": lambda _: -1},
        {"maps__columns__names": lambda names: tuple(f"n{k}" for k in range(500))},
        {"maps__columns__names": lambda names: names[:1] * len(names)},
        {"maps__columns__squares": lambda squares: squares[:1]},
        {"maps__columns__first": lambda first: (-(1 << 63),) * len(first)},
        {"maps__pairs": lambda pairs: pairs * 500},
        {"maps__pairs": lambda _: ((0, 99),)},
        {"maps__pairs": lambda _: ((-1, 0),)},
        {"maps__words": lambda words: words * 2},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_auto_model_of_other_lengths_is_damaged(parts):
    with pytest.raises(DamagedError):
        from_bytes(hostile(**parts))


@pytest.mark.parametrize(
    "name", ["perceptron", "voted-perceptron", "multiclass-perceptron", "batch", "structured"]
)
def test_negative_count_is_damaged(name):
    cls, params, state = body(name)
    counts = {each: -1 for each in state if each.startswith("n_")} or {"counts": (-1, 0, 0)}
    for count, value in counts.items():
        with pytest.raises(DamagedError, match="expected a whole number from 0 to 9007199254740992, got -1"):
            from_bytes(seal(b"perceptron-model", 1, pack([cls, params, {**state, count: value}])))


@pytest.mark.parametrize(
    ("params", "state"),
    [
        ({"classes": tuple(map(str, range(300_000)))}, {}),
        ({}, {"labels": tuple(map(str, range(3_000))), "ensembles": ((),) * 3_000}),
        (
            {},
            {"maps": {"words": b"1234" * (1 << 18), "grams": b"", "pairs": ()}, "labels": tuple(range(100))},
        ),
    ],
    ids=["classes", "labels", "slots"],
)
def test_auto_state_cannot_claim_much_memory(params, state):
    cls, known, learned = body("auto")
    with pytest.raises(DamagedError, match="bytes of memory"):
        from_bytes(seal(b"perceptron-model", 1, pack([cls, known | params, learned | state])))


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("multiclass")])
def test_multiclass_state_cannot_claim_many_cells(name):
    cls, params, state = body(name)
    first = next(each for each, learned in state.items() if isinstance(learned, dict))
    sparse = {f"class {k}": {} for k in range(12_000)} | {"many": dict.fromkeys(range(50_000), 1.0)}
    with pytest.raises(DamagedError, match="bytes of memory"):
        from_bytes(seal(b"perceptron-model", 1, pack([cls, params, state | {first: sparse}])))


def test_numbers_near_the_smallest_double_are_learned():
    model = AutoClassifier(hash_bits=6)
    for turn in range(40):
        model.learn_one({"a": turn % 2 * 2.3e-162, "b": turn % 3}, turn % 2 == 0)
    assert all(math.isfinite(each) for each in model.log_odds({"a": 0.0, "b": 1.0}))


@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"structured", "batch"}))
def test_model_that_learned_the_largest_values_can_be_read(name):
    model = MODELS[name].clone()
    for turn, (_, y) in enumerate([*events(name)][:40]):
        x = {3: 1e100 * (-1) ** turn} if name.startswith("hashed") else {"a": 1e100 * (-1) ** turn, "b": 1.0}
        with suppress(LearnerError):
            model.learn_one(x, y)
    assert to_bytes(from_bytes(to_bytes(model))) == to_bytes(model)
