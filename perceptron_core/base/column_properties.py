"""Properties of a learner that read and write its columns, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def nonzero(column: str, doc: str | None = None) -> Any:
    """Return the property of the cells of a column by feature that are not 0."""
    return property(
        lambda self: self.table.nonzero(getattr(self, column)),
        lambda self, cells: self.table.write(getattr(self, column), cells),
        doc=doc,
    )


def stored(column: str, doc: str | None = None) -> Any:
    """Return the property of the cells of a column by feature, zeros too; setting it forgets all features."""
    return property(lambda self: self.table.stored(getattr(self, column)), _restart_with(column), doc=doc)


def first_nonzero(column: str, doc: str | None = None) -> Any:
    """Return the property that `nonzero` returns, which forgets all features when it is set."""
    return property(lambda self: self.table.nonzero(getattr(self, column)), _restart_with(column), doc=doc)


def nonzero_by_class(columns: str, doc: str | None = None) -> Any:
    """Return the property of what is not 0 in the columns of all classes, by feature, by class."""
    return property(
        lambda self: self._of_columns(getattr(self, columns)),
        lambda self, cells: self._write_columns(getattr(self, columns), cells),
        doc=doc,
    )


def by_class(column: str, doc: str | None = None) -> Any:
    """Return the property of the numbers of all classes, by class."""
    return property(
        lambda self: self.by_class(getattr(self, column)),
        lambda self, numbers: self.write_by_class(getattr(self, column), numbers),
        doc=doc,
    )


def read_only(settable: Any) -> Any:
    """Return a property that cannot be set."""
    return property(settable.fget, doc=settable.__doc__)


def _restart_with(column: str) -> Any:
    def write(self: Any, cells: Mapping[Any, float]) -> None:
        self._restart()
        self.table.write(getattr(self, column), cells)

    return write
