"""Settings of what mistakes cost, and whether decisions go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from service.messages.labels import BINARY
from service.settings.kafka import disagreement
from service.settings.tables.decisions import COST, DecisionSettings, goal_of


class CostSettings(BaseModel):
    """What mistakes cost, in any unit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    false_positive: float = Field(
        0.0, ge=0, le=1e12, description="Cost of acting on an event that is not of the positive class."
    )
    false_negative: float = Field(
        0.0, ge=0, le=1e12, description="Cost of not acting on an event of the positive class."
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


def decisions_given(settings: Any) -> dict[str, object]:  # noqa: ANN401 - `Settings`, which have these
    """List the settings of decisions by dotted name; none where there are no decisions."""
    if not (settings.decisions or settings.costs.are_given):
        return {}
    return {
        "decisions": settings.decisions,
        "decisions_half_life": settings.decisions_half_life,
        **{f"costs.{name}": value for name, value in settings.costs},
    }
