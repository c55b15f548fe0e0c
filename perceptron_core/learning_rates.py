"""Learning rates: a number or one of River's schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from perceptron_core.validation import MAX_RATE

if TYPE_CHECKING:
    from river.optim.base import Scheduler

Rate: TypeAlias = Union[float, "Scheduler"]
"""A constant η > 0, or a scheduler such as `river.optim.schedulers.InverseScaling`."""


def check_rate(rate: Rate) -> None:
    """Refuse a learning rate that makes no sane first step. Raises ValueError."""
    rate_at(rate, 0)


def rate_at(rate: Rate, n_updates: int) -> float:
    """Return η for the update after `n_updates` others. Raises ValueError if it is not in (0, `MAX_RATE`]."""
    value = rate if type(rate) is float else _scheduled(rate, n_updates)  # a plain number most often
    if not 0 < value <= MAX_RATE:
        raise ValueError(f"learning_rate must be above 0 and at most {MAX_RATE:g}, not {value!r}")
    return float(value)


def _scheduled(rate: Rate, n_updates: int) -> float:
    from river.optim.base import Scheduler  # noqa: PLC0415  takes long to import

    return rate.get(n_updates) if isinstance(rate, Scheduler) else rate
