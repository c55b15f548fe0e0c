"""Settings of decisions, of what mistakes cost, of how much labels count, and of drifts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from service.messages.labels import BINARY, MAX_WEIGHT, Truth, Vocabulary
from service.settings.declaration import Decides, Table, disagreement, setting

COST: Final = "cost"
_GOALS: Final = ("min_precision", "max_false_positive_rate", "min_recall", COST, "threshold", "max_rate")
"""In the order of the goals of `service.partition.parts.decisions`."""
_LARGEST: Final = 1e100
"""Of a threshold; `perceptron_core`, which has it as well, takes long to import."""
_PERIODS_MS: Final = {
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_RATE: Final = re.compile(rf"([1-9]\d{{0,8}}) */ *({'|'.join(_PERIODS_MS)})", re.ASCII)

DRIFT: Final = "drift"
"""The type of a signal that says so, and what a webhook calls it."""


class DecisionSettings(Table):
    """A decision, with at most one goal that its threshold follows from; without one, costs decide."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    name: str = Field(min_length=1, max_length=64)
    of: str = Field("", alias="class")
    """Its class; empty: the positive one."""
    min_precision: float | None = Field(None, gt=0, lt=1)
    max_false_positive_rate: float | None = Field(None, gt=0, lt=1)
    min_recall: float | None = Field(None, gt=0, lt=1)
    threshold: float | None = None
    max_rate: str | None = None

    @property
    def goal(self) -> str:
        """What its threshold follows from."""
        return next(iter(self._goals()), COST)

    @property
    def level(self) -> float | str:
        """What it wants of its goal."""
        level: float | str = self._goals().get(self.goal, 0.0)
        return level

    def _goals(self) -> dict[str, Any]:
        return {name: value for name, value in self if name in _GOALS and value is not None}

    @model_validator(mode="after")
    def _check_goals(self) -> Self:
        if len(goals := self._goals()) > 1:
            raise ValueError(f"{' and '.join(goals)} exclude each other")
        if abs(self.threshold or 0.0) > _LARGEST:
            raise ValueError(f"threshold: expected a number from {-_LARGEST:g} to {_LARGEST:g}")
        if self.max_rate is not None and not _RATE.fullmatch(self.max_rate):
            wanted = f"a whole number from 1 to 999999999 by {', '.join(_PERIODS_MS)}, such as 100/day"
            raise ValueError(f"max_rate: expected {wanted}")
        return self

    @model_serializer(mode="wrap")
    def _without_other_goals(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None}


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
    if rate := _RATE.fullmatch(given.max_rate or ""):
        return goal, 0.0, truth, int(rate[1]), _PERIODS_MS[rate[2]]
    return goal, float(given.level), truth, 0, 0


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
    names = [each.name for each in decisions]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        raise disagreement(("decisions",), f"{twice!r} is named twice")
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
