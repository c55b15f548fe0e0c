"""What holds of each part of `AutoClassifier`, alone and among the others."""

import random

import pytest

from perceptron_core import DamagedError, from_bytes, to_bytes
from perceptron_core.formats.packed import pack, seal, unpack, unseal

KINDS = {2: [False, True], 3: ["ham", "spam", "eggs"]}


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


def check_it_goes_on_from_bytes_as_columns_come_and_go(model, again, n_events, n_each):
    """Write and read one of two new models, of three columns at most, while others have values."""
    draw = random.Random(3)
    for n in range(n_events):
        names = {0: "ab", 1: "bc", 2: "acd"}[n // n_each % 3]
        x, y = {name: draw.random() for name in names}, draw.random() < 0.5
        if n % 50 == 0:
            again = from_bytes(to_bytes(again))
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


def check_a_copy_goes_on(model, copied, events):
    again = copied(model)
    assert to_bytes(taught(again, events)) == to_bytes(taught(model, events))


def check_a_prediction_changes_nothing(made, events, **others):
    """Ask about each event with other values before one of two models learns it."""
    one, two = made(), made()
    for x, y in events:
        one.predict_proba_one({**x, **others})
        one.learn_one(x, y)
        two.learn_one(x, y)
    assert to_bytes(one) == to_bytes(two)


def altered(old, draw, others):
    """Return bytes of which one is another, or a list whose last number is one of `others`."""
    if isinstance(old, bytes):
        at = draw.randrange(len(old))
        return old[:at] + bytes([draw.randrange(256)]) + old[at + draw.randrange(2) :]
    return [*old[:-1], draw.choice(others)][draw.randrange(2) :]


def check_altered_state_is_refused_or_goes_on(model, part, name, alter, events, *, times):
    """Alter what a part of the maps has under a name, again and again; `alter` takes it and a `Random`."""
    version, body = unseal(b"perceptron-model", range(1, 3), to_bytes(model))
    draw = random.Random(name)
    for _ in range(times):
        *content, state = unpack(body)
        kept = state["maps"][part]
        maps = {**state["maps"], part: {**kept, name: alter(kept[name], draw)}}
        data = pack([*content, {**state, "maps": maps}])
        try:
            again = from_bytes(seal(b"perceptron-model", version, data))
        except DamagedError:
            continue
        taught(again, events)
