"""Tables that show which terms a score is the sum of."""

from __future__ import annotations

from collections.abc import Iterable

Term = tuple[object, float, float]
"""(name, value, weight): the contribution to the score is value · weight."""

_HEADERS = ("Name", "Value", "Weight", "Contribution")


def contribution_table(terms: Iterable[Term], decimals: int = 5) -> str:
    """Lay out terms, those that speak loudest for True first."""
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
