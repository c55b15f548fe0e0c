"""Learning rates that change. In: a number or one of River's schedulers. Out: the rate of an update."""

from __future__ import annotations

from river.optim.base import Scheduler

from perceptron_core.values import MAX_RATE

Rate = float | Scheduler
"""A constant η > 0, or a scheduler such as `river.optim.schedulers.InverseScaling`."""


def check_rate(rate: Rate) -> None:
    """Refuse a learning rate that makes no sane first step. Raises ValueError."""
    rate_at(rate, 0)


def rate_at(rate: Rate, n_updates: int) -> float:
    """Give η for the update after `n_updates` others. Raises ValueError if it is not in (0, `MAX_RATE`]."""
    # A plain number most often, which is told faster than a scheduler.
    value = rate.get(n_updates) if type(rate) is not float and isinstance(rate, Scheduler) else rate
    if not 0 < value <= MAX_RATE:
        raise ValueError(f"learning_rate must be above 0 and at most {MAX_RATE:g}, not {value!r}")
    return float(value)
