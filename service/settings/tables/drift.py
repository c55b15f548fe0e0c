"""Settings of drifts: whether they are looked for, and how often a false one may be found."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

DRIFT: Final = "drift"
"""The type of a signal that says so, and what a webhook calls it."""


class DriftSettings(BaseModel):
    """What comes of a drift, and how rare false alarms are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels_between_false_alarms: float = Field(
        1e6, ge=1000, le=1e15, description="Labels between two drifts that are none, at least, in the mean."
    )
    reaction: Literal["none", "record"] = Field(
        "none", description="What is done when the error of a partition drifts: none, or record a signal."
    )

    @property
    def is_on(self) -> bool:
        """Whether drifts are looked for."""
        return self.reaction != "none"


def drift_given(settings: Any) -> dict[str, object]:  # noqa: ANN401 - `Settings`, which have these
    """List the settings of drifts by dotted name; none where they are not looked for."""
    return {f"drift.{name}": value for name, value in settings.drift} if settings.drift.is_on else {}
