"""Settings of decisions, of what mistakes cost, of how much labels count, and of drifts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import nan
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from service.messages.labels import BINARY, MAX_WEIGHT, Truth, Vocabulary
from service.settings.declaration import Decides, Table, disagreement, parse_tables, setting

_MOST: Final = 32
_LONGEST_NAME: Final = 64
_GOALS: Final = ("min_precision", "max_false_positive_rate", "min_recall", "cost", "threshold", "max_rate")
"""In the order of the goals of `service.partition.parts.decisions`."""
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


DRIFT: Final = "drift"
"""The type of a signal that says so, and what a webhook calls it."""


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


class CostSettings(Table):
    """What mistakes cost, in any unit."""

    false_positive: float = setting(
        0.0, "Cost of acting on an event that is not of the positive class.", Decides.DECISIONS, ge=0, le=1e12
    )
    false_negative: float = setting(
        0.0, "Cost of not acting on an event of the positive class.", Decides.DECISIONS, ge=0, le=1e12
    )

    @property
    def are_given(self) -> bool:
        """Whether mistakes have costs."""
        return self.false_positive > 0

    @model_validator(mode="after")
    def _check_both(self) -> Self:
        if (self.false_positive > 0) != (self.false_negative > 0):
            names = ("costs.false_positive", "costs.false_negative")
            raise disagreement(names, f"{names[0]} and {names[1]} must both be given, and be more than 0")
        return self


def check_decisions(
    decisions: Sequence[DecisionSettings], costs: CostSettings, classes: Sequence[str]
) -> None:
    """Raise `PydanticCustomError` if decisions and costs do not go with each other or with the classes."""
    for each in decisions:
        try:
            goal_of(each, classes)
        except ValueError as error:
            raise disagreement(("decisions", "classes"), str(error)) from None
        if each.goal == COST and not costs.are_given:
            raise disagreement(
                ("decisions", "costs.false_positive"),
                f"{each.name!r} has no goal such as min_precision, and no costs are given",
            )
    if costs.are_given and len(classes) > BINARY:
        reason = "costs are those of two classes, and there are more"
        raise disagreement(("costs.false_positive", "classes"), reason)


ClassWeight = Annotated[float, Field(strict=True, ge=0, le=MAX_WEIGHT)]


def weights_of(named: Mapping[str, float], classes: Sequence[str]) -> dict[Truth, float]:
    """Return the weights by class.

    >>> weights_of({"spam": 20.0}, ("ham", "spam"))
    {True: 20.0}

    Raises
    ------
    ValueError
        A name denotes none of these classes, or two denote the same; `Settings` has none such.

    """
    vocabulary = Vocabulary(classes)
    found = {vocabulary.truth_of_text(name): weight for name, weight in named.items()}
    if len(found) < len(named):
        raise ValueError(f"two of {', '.join(named)} denote the same class")
    return found


class DriftSettings(Table):
    """What comes of a drift, and how rare false alarms are."""

    labels_between_false_alarms: float = setting(
        1e6,
        "Labels between two drifts that are none, at least, in the mean.",
        Decides.DRIFT,
        ge=1000,
        le=1e15,
    )
    reaction: Literal["none", "record"] = setting(
        "none",
        "What is done when the error of a partition drifts: none, or record a signal.",
        Decides.DRIFT,
    )

    @property
    def is_on(self) -> bool:
        """Whether drifts are looked for."""
        return self.reaction != "none"
