"""Lanes of one model that learn and take part in rounds, as the tests of sharing need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

import perceptron_core
from perceptron_core import from_bytes, to_bytes
from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.base.shared import WEIGHTS
from perceptron_core.sharing.blocks import read_bases
from perceptron_core.sharing.mix import mix
from perceptron_core.sharing.shared_model import SharedModel
from tests.support.learners import SEVERAL, TWO_CLASS

Make = Callable[[Any], Any]
"""Makes a model, from a core."""


def _made_like(model: Any) -> Make:
    parameters = {name: getattr(model, name) for name in model._get_params()}
    return lambda core: getattr(core, type(model).__name__)(**parameters)


def _hashed(make: Make) -> Make:
    return lambda core: core.HashedClassifier(make(core), bits=5)


_SHARED = {
    **{
        name: model
        for name, model in {**TWO_CLASS, **SEVERAL}.items()
        if model.SHARED and not getattr(model, "full", False)
    },
    "perceptron-no-intercept": perceptron_core.Perceptron(fit_intercept=False),
    "arow-forgetting": perceptron_core.AROW(forgetting=0.9),
    "arow-intercept-forgetting": perceptron_core.AROW(intercept_forgetting=0.8),
}
ALL: dict[str, Make] = {
    **{name: _made_like(model) for name, model in _SHARED.items()},
    **{
        f"hashed-{name}": _hashed(_made_like(model))
        for name, model in _SHARED.items()
        if isinstance(model, LinearRule)
    },
}
ADDITIVE = [name for name in ALL if _SHARED[name.removeprefix("hashed-")].SHARED is WEIGHTS]
any_name = st.sampled_from([*ALL])


class Learn(NamedTuple):
    """An example for a lane."""

    lane: int
    x: dict[int, float]
    y: int


class Round(NamedTuple):
    """A round in which every lane takes part."""

    max_bytes: int


Step = Learn | Round

VALUES = st.sampled_from([1.0, 0.5, -2.0, 3.0, 0.0])


def steps(n_lanes: int, values: st.SearchStrategy[float] = VALUES) -> st.SearchStrategy[list[Step]]:
    """Draw what happens to so many lanes."""
    examples = st.dictionaries(st.integers(0, 12), values, max_size=4)
    learn = st.builds(Learn, st.integers(0, n_lanes - 1), examples, st.integers(0, 2))
    return st.lists(
        st.one_of(learn, learn, learn, st.builds(Round, st.sampled_from([500, 10_000]))), max_size=25
    )


def learn(model: Any, step: Learn) -> Any:
    """Learn an example; return what takes it back."""
    is_multiclass = hasattr(model, "scores_one")
    is_hashed = hasattr(model, "learner")
    x = {k if is_hashed else f"f{k}": value for k, value in step.x.items()}
    return x, model.update_one(x, (model.classes or "abc")[step.y] if is_multiclass else step.y > 0)


def play(lanes: Sequence[Any], happening: Sequence[Step], mixed: Callable[..., Any] = mix) -> None:
    """Let the lanes live through it."""
    for step in happening:
        if isinstance(step, Learn):
            learn(lanes[step.lane].model, step)
        else:
            close(lanes, step.max_bytes, mixed)


def close(lanes: Sequence[Any], max_bytes: int = 10_000, mixed: Callable[..., Any] = mix) -> list[bytes]:
    """Let all lanes take part in a round; return their contributions."""
    contributions = [lane.contribute(max_bytes) for lane in lanes]
    made = mixed(contributions)
    for lane, own in zip(lanes, contributions, strict=True):
        lane.apply(made, own)
    return contributions


def lanes_of(name: str, n: int) -> list[SharedModel]:
    """Make lanes of a model."""
    return [SharedModel(ALL[name](perceptron_core)) for _ in range(n)]


def restarted(lane: SharedModel) -> SharedModel:
    """Return a lane that was written down and read again."""
    state = lane.state()
    again = SharedModel(from_bytes(to_bytes(lane.model)))
    again.restore(state)
    return again


def bases(lane: SharedModel) -> dict[Any, Any]:
    """Return the base of a lane, by class, kind of rows and coordinate."""
    state = lane.state()
    found = {}
    coordinates = lane._shared._features.unpack(state["coordinates"])
    for block in read_bases(state["bases"]):
        for entry, row in enumerate(block.rows):
            where = None if block.of else coordinates[row]
            found[block.label, where] = [column[entry] for column in block.columns]
    return found
