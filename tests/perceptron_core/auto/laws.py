"""What holds of each part of `AutoClassifier`, alone and among the others."""

import math
import random

import pytest

from perceptron_core import DamagedError, from_bytes, to_bytes
from perceptron_core.formats.packed import pack, seal, unpack, unseal

KINDS = {2: [False, True], 3: ["ham", "spam", "eggs"]}
WORDS = {
    "en": ["where", "is", "the", "station", "and", "who", "has", "money", "for", "lunch"],
    "de": ["wo", "ist", "der", "Bahnhof", "und", "wer", "hat", "Geld", "für", "Mittag"],
    "ja": ["駅", "は", "どこ", "ですか", "お金", "昼食", "誰", "が", "持って", "いる"],
}


def thresholds(n, n_classes=2, seed=1):
    """Make events of two numbers, a category, a boolean and a text, some missing, of classes by a tree."""
    draw, labels = random.Random(seed), KINDS[n_classes]
    for _ in range(n):
        x = {
            "a": draw.random(),
            "b": draw.gauss(0, 100),
            "kind": draw.choice("uvwxyz"),
            "on": draw.random() < 0.5,
            "note": "see you at noon, in front of the old station",
        }
        y = labels[int(x["a"] > 0.4) + (x["kind"] in "uxz") * (n_classes - 2) if x["on"] else 0]
        if draw.random() < 0.1:
            del x[draw.choice(["a", "kind"])]
        yield x, y


def patches(n, n_classes=2, seed=1):
    """Make events of two numbers, a category and a text, some missing, of classes by patches of a plane."""
    draw, labels = random.Random(seed), KINDS[n_classes]
    for _ in range(n):
        x = {
            "a": draw.random(),
            "b": 100 * draw.random(),
            "kind": draw.choice("uvw"),
            "note": "see you at noon, in front of the old station",
        }
        y = labels[(int(3 * x["a"]) + int(x["b"] / 34)) % n_classes]
        if draw.random() < 0.1:
            del x[draw.choice(["a", "kind"])]
        yield x, y


def languages(n, n_classes=2, seed=1):
    """Make texts of several languages; of two classes, False and True."""
    draw, kinds = random.Random(seed), [*WORDS][:n_classes]
    for _ in range(n):
        kind = draw.choice(kinds)
        text = " ".join(draw.choices(WORDS[kind], k=9)) + " and so on 123"
        yield {"note": text, "n": draw.random()}, kind if n_classes > 2 else kind == "de"


def taught(model, events):
    for x, y in events:
        model.learn_one(x, y)
    return model


def mistakes(model, events):
    wrong = 0
    for x, y in events:
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong


def check_it_goes_on_from_bytes(model, events):
    again = from_bytes(to_bytes(model))
    for x, y in events:
        assert again.log_odds(x) == model.log_odds(x)
        model.learn_one(x, y)
        again.learn_one(x, y)
    assert to_bytes(again) == to_bytes(model)


def check_explanations_add_up(model, events, has_terms=bool):
    """Explain each class of each event; the names of its terms must be as `has_terms` says."""
    for x, _ in events:
        for number, log_odds in enumerate(model.log_odds(x)):
            terms, intercept = model.explain(x, number)
            assert sum(term.contribution for term in terms) + intercept == pytest.approx(log_odds, abs=1e-9)
            assert has_terms([term.name for term in terms])


NUMBERS = [0, 1, 7, 79, 81, 999, 1001, 5000, -1, 1.5, 2**40, -1.0, 1e61, math.nan, 3.0, "x"]


def altered(value, draw):
    """Return a value of which one number or byte is another, or missing."""
    if isinstance(value, dict):
        name = draw.choice([*value])
        return {**value, name: value[name][:-1] if name == "cells" else altered(value[name], draw)}
    if isinstance(value, bytes):
        at = draw.randrange(len(value))
        return value[:at] + bytes([draw.randrange(256)]) + value[at + draw.randrange(2) :]
    if not isinstance(value, (list, tuple)):
        return draw.choice(NUMBERS)
    changed = [*value]
    at = draw.randrange(len(changed))
    changed[at] = altered(changed[at], draw)
    return changed[draw.randrange(8) == 0 :]


def check_altered(model, place, events, times, change=altered):
    """Alter a part of a map's state a few times; each altered model is rejected, or learns the events."""
    version, body = unseal(b"perceptron-model", range(1, 3), to_bytes(model))
    (name, part), draw, events = place, random.Random(place[1]), [*events]
    for _ in range(times):
        *content, state = unpack(body)
        kept = state["maps"][name]
        maps = {**state["maps"], name: {**kept, part: change(kept[part], draw)}}
        data = pack([*content, {**state, "maps": maps}])
        try:
            again = from_bytes(seal(b"perceptron-model", version, data))
        except DamagedError:
            continue
        taught(again, events)
