"""Declarations of learners: steps, weights of examples, terms of scores, ranges of parameters."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

Label = Hashable

NO_CLASS: Final = -1
"""Number that stands for no class."""


class Update(NamedTuple):
    """An update, as plain values."""

    size: float
    """The size of the step, in units of x."""
    gained: Label
    lost: Label
    n_before: int = 0
    """Number of examples learned before it, for averages."""


OF_STEP: Final = "multiplies the step"
"""The weight acts like a learning rate: with w = 2, the update is twice as large."""
OF_LOSS: Final = "multiplies the loss"
"""The weight multiplies the gradient; with steps scaled by earlier gradients, the step may be less than w
times as large."""
OF_COUNTS: Final = "multiplies the counts"
OF_RESISTANCE: Final = "divides r"
OF_PRICE: Final = "multiplies C"


Term = tuple[object, float, float]
"""(name, value, weight): the contribution to the score is value · weight."""

_HEADERS = ("Name", "Value", "Weight", "Contribution")


def contribution_table(terms: Iterable[Term], decimals: int = 5) -> str:
    """Format terms as a table, the largest contributions to True first."""
    from river.utils import pretty  # noqa: PLC0415  takes long to import

    rows = [(str(name), float(value), float(weight)) for name, value, weight in terms]
    rows.sort(key=lambda row: row[1] * row[2], reverse=True)

    def number(value: float) -> str:
        return f"{value: ,.{decimals}f}"

    columns = [
        [name for name, _, _ in rows],
        [number(value) for _, value, _ in rows],
        [number(weight) for _, _, weight in rows],
        [number(value * weight) for _, value, weight in rows],
    ]
    return pretty.print_table(_HEADERS, columns) if rows else " ".join(_HEADERS)
