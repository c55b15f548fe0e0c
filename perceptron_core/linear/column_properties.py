"""Properties of a learner that read and write its columns, computed on access."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from perceptron_core.weights.example import Column
from perceptron_core.weights.tables import WeightTable


class Cells(property):
    """The property of the cells of a column by feature.

    Parameters
    ----------
    column
        Name of the attribute with the column.
    write
        Sets the property.
    doc
        Docstring of the property.
    with_zeros
        Whether cells that are 0 are included.

    """

    def __init__(
        self, column: str, write: Callable[[Any, Any], None], doc: str | None, *, with_zeros: bool
    ) -> None:
        super().__init__(self._read, write, doc=doc)
        self.__doc__ = doc
        self._column = column
        self._with_zeros = with_zeros

    def column_of(self, model: Any) -> tuple[WeightTable, Column, bool]:
        """Return the table of a model, its column, and whether cells that are 0 are included."""
        return model.table, getattr(model, self._column), self._with_zeros

    def _read(self, model: Any) -> dict[Any, float]:
        table, column, with_zeros = self.column_of(model)
        return dict(zip(*table.collect(column, with_zeros), strict=True))


def nonzero(column: str, doc: str | None = None) -> Any:
    """Return a property of the non-zero cells of a column, by feature."""
    return Cells(column, partial(_write, column), doc, with_zeros=False)


def stored(column: str, doc: str | None = None) -> Any:
    """Return a property of the cells of a column by feature, also zeros; setting it resets all features."""
    return Cells(column, partial(_restart_with, column), doc, with_zeros=True)


def first_nonzero(column: str, doc: str | None = None) -> Any:
    """Return a property as `nonzero`, which resets all features when it is set."""
    return Cells(column, partial(_restart_with, column), doc, with_zeros=False)


def nonzero_by_class(columns: str, doc: str | None = None) -> Any:
    """Return a property of the non-zero cells in the columns of all classes, by class and feature."""
    return property(
        lambda self: self._of_columns(getattr(self, columns)),
        lambda self, cells: self._write_columns(getattr(self, columns), cells),
        doc=doc,
    )


def by_class(column: str, doc: str | None = None) -> Any:
    """Return a property of a column with one number for each class, by class."""
    return property(
        lambda self: self.by_class(getattr(self, column)),
        lambda self, numbers: self.write_by_class(getattr(self, column), numbers),
        doc=doc,
    )


def read_only(settable: Any) -> Any:
    """Return a property that cannot be set."""
    return property(settable.fget, doc=settable.__doc__)


def _write(column: str, model: Any, cells: Mapping[Any, float]) -> None:
    model.table.write(getattr(model, column), cells)


def _restart_with(column: str, model: Any, cells: Mapping[Any, float]) -> None:
    model._restart()  # noqa: SLF001  of our own class
    _write(column, model, cells)
