"""Settings of decisions: when an event is acted on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, Final, NamedTuple

from service.messages.labels import BINARY, Truth, Vocabulary
from service.settings.tables.parsing import parse_tables

_MOST: Final = 32
_LONGEST_NAME: Final = 64
_GOALS: Final = ("min_precision", "max_false_positive_rate", "min_recall", "cost", "threshold", "max_rate")
"""In the order of the goals of `service.partition.decisions`."""
COST: Final = "cost"
_NAMES: Final = ("name", *(goal for goal in _GOALS if goal != COST), "class")
_RATE: Final = re.compile(r"([1-9]\d{0,8}) */ *(second|minute|hour|day|week)", re.ASCII)
_LARGEST: Final = 1e100
"""Of a threshold; `perceptron_core`, which has it as well, takes long to import."""
_PERIODS_MS: Final = {
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}


class DecisionSettings(NamedTuple):
    """A decision."""

    name: str
    goal: str = COST
    """What its threshold follows from."""
    level: float | str = 0.0
    of: str = ""
    """Its class; empty: the positive one."""


def parse_decisions(value: object) -> object:
    """Turn tables into `DecisionSettings`.

    >>> parse_decisions([{"name": "block", "min_precision": 0.99}])
    (DecisionSettings(name='block', goal='min_precision', level=0.99, of=''),)

    Raises
    ------
    ValueError
        A table is no decision; the message says which and why.

    """
    wanted = "[[decisions]] with name and min_precision or another goal"
    found = parse_tables(value, _decision, most=_MOST, wanted=wanted)
    names = [each.name for each in found]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        raise ValueError(f"{twice!r} is named twice")
    return tuple(found)


def _decision(table: object) -> DecisionSettings:
    if isinstance(table, Sequence) and not isinstance(table, str):  # as a snapshot has it
        table = _as_table(DecisionSettings(*table))
    if not isinstance(table, Mapping):
        raise ValueError("expected a table with name and min_precision or another goal")  # noqa: TRY004
    if other := next((name for name in table if name not in _NAMES), None):
        raise ValueError(f"{other}: there is no such setting; there are {', '.join(_NAMES)}")
    name, of = table.get("name"), table.get("class", "")
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
        raise ValueError(f"name: expected a text of 1 to {_LONGEST_NAME} characters")
    if not isinstance(of, str):
        raise ValueError("class: expected the name of a class")  # noqa: TRY004
    goals = [goal for goal in _GOALS if goal in table]
    if len(goals) > 1:
        raise ValueError(f"{' and '.join(goals)} exclude each other")
    if not goals:
        return DecisionSettings(name, of=of)
    return DecisionSettings(name, goals[0], _level(goals[0], table[goals[0]]), of)


def _as_table(given: DecisionSettings) -> Mapping[str, Any]:
    goal = {} if given.goal == COST else {given.goal: given.level}
    return {"name": given.name, "class": given.of, **goal}


def _level(goal: str, level: object) -> float | str:
    if goal == "max_rate":
        if not isinstance(level, str) or not _RATE.fullmatch(level):
            wanted = f"a whole number from 1 to 999999999 by {', '.join(_PERIODS_MS)}, such as 100/day"
            raise ValueError(f"{goal}: expected {wanted}")
        return level
    number = level if isinstance(level, (int, float)) and not isinstance(level, bool) else nan
    if goal == "threshold" and not abs(number) <= _LARGEST:
        raise ValueError(f"{goal}: expected a number from {-_LARGEST:g} to {_LARGEST:g}")
    if goal != "threshold" and not 0 < number < 1:
        raise ValueError(f"{goal}: expected a number between 0 and 1, and neither")
    return float(number)


def goal_of(given: DecisionSettings, classes: Sequence[str]) -> tuple[int, float, Truth, int, int]:
    """Return the goal, level, class, budget and period of a decision, as `Rule` takes them.

    Raises
    ------
    ValueError
        It names no class, or another than these; `Settings` has none such.

    """
    if not given.of and len(classes) > BINARY:
        raise ValueError(f"{given.name!r} names no class, and there are more than two")
    truth = Vocabulary(classes).truth_of_text(given.of) if given.of else True
    goal = _GOALS.index(given.goal)
    if isinstance(given.level, float):
        return goal, given.level, truth, 0, 0
    rate = _RATE.fullmatch(given.level)
    assert rate is not None
    return goal, 0.0, truth, int(rate[1]), _PERIODS_MS[rate[2]]


def spell_goal(goal: int, level: float, budget: int, period_ms: int) -> str:
    """Return a goal as settings have it.

    >>> spell_goal(0, 0.95, 0, 0), spell_goal(5, 0.0, 24, 86_400_000), spell_goal(3, 0.0, 0, 0)
    ('min_precision = 0.95', 'max_rate = 24/day', 'cost')

    """
    if _GOALS[goal] == COST:
        return COST
    period = next((name for name, length_ms in _PERIODS_MS.items() if length_ms == period_ms), "")
    return f"{_GOALS[goal]} = {f'{budget}/{period}' if budget else f'{level:g}'}"
