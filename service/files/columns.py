"""The columns of a file with ids, texts and labels."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from service.mapping.notation import Notation
from service.messages.paths import parse_path
from service.settings.mapping import EventSettings, is_of_record

LABEL_COLUMNS: Final = ("label", "class", "target", "y")
USUAL_NAMES: Final = (*LABEL_COLUMNS, "id", "text")


def leaving_out(name: str, given: str | None = None, label: str | None = None) -> str:
    """Return the options that exclude a column, if the label is from --label-column or was found."""
    label = given or label or "label"
    option = "" if label == "label" else f" --events-label {shlex.quote(label)}"
    instead = "" if given is None else " in place of --label-column"
    return f"--events-features '*' --events-exclude {shlex.quote(name)}{option}{instead}"


class HeaderError(ValueError):
    """A CSV header that does not fit the requested columns."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Roles(NamedTuple):
    """The names of the columns of a file without a mapping; None for a missing column."""

    label: str | None
    id: str | None
    text: str | None
    features: Sequence[str]
    """All other columns."""
    time: str | None


@dataclass(frozen=True)
class Columns:
    """How a file's rows become events."""

    label: str | None = None
    """The column of labels; None: a column with a usual name."""
    classes: frozenset[str] = frozenset()
    """Class names; a label spelled like one stays text."""
    id_prefix: str = "row-"
    """Prefix of the row number, which is the id of rows without ids. Files for one topic need different
    prefixes, as a repeated id within the label timeout is the same event."""
    mapping: EventSettings | None = None
    """The mapping of rows as documents, if there is one."""
    delimiter: str = ""
    """Delimiter of a CSV file; empty: derived from the first line."""
    warn: Callable[[str, str], None] = lambda *_: None
    """Called with a warning about a file, and a hint."""
    time: str | None = None
    """The column of event times, which is not part of the events."""
    notation: Notation | None = None
    """Reads numbers and times in human formats."""
    are_labels: bool = False
    """Whether rows are labels: their id and label are used, and other columns ignored."""

    def name(self, row: int) -> dict[str, str]:
        """Return the id of a row without one; nothing if a mapping locates ids."""
        return {} if self.mapping and self.mapping.id else {"id": f"{self.id_prefix}{row}"}

    def roles(self, header: Sequence[str]) -> Roles:
        """Find the columns in a header. Raises `HeaderError` if a named column is missing."""
        label = self._find(header, self.label, LABEL_COLUMNS, "--label-column")
        row_id = self._find(header, None, ("id",), "--events-id")
        time = self._find(header, self.time, (), "--timestamp")
        if self.are_labels:
            self._reject_no_labels(header, label, row_id)
            return Roles(label, row_id, None, (), time)
        text = self._find(header, None, ("text",), "--events-text")
        features = [name for name in header if name not in {label, row_id, text, time}]
        self._warn_of_labels(label, features)
        return Roles(label, row_id, text, features, time)

    def _reject_no_labels(self, header: Sequence[str], label: str | None, row_id: str | None) -> None:
        """Reject rows without a label or an id."""
        for name, column, setting in (("ids", row_id, "--labels-id"), ("labels", label, "--labels-label")):
            if column is None:
                raise HeaderError(
                    f"{name}: no column found",
                    f"name one of these columns with {setting}: {', '.join(header)}",
                )

    def _warn_of_labels(self, label: str | None, features: Sequence[str]) -> None:
        """Warn of features with usual names of labels, which may reveal it. With x, y is a coordinate."""
        suspect = {*LABEL_COLUMNS} - ({"y"} if "x" in features else set())
        for name in features if label is not None else ():
            if name.strip().lower() in suspect:
                hint = f"if it determines the label, exclude it: {leaving_out(name, self.label, label)}"
                self.warn(f"the column {name!r} becomes a feature alongside the label {label!r}", hint)

    def _find(
        self, header: Sequence[str], wanted: str | None, usual: Sequence[str], option: str
    ) -> str | None:
        """Find a column by the given name, else by a usual name; warn of similar names."""
        if wanted is not None and wanted not in header:
            raise HeaderError(
                f"unknown column {wanted!r}", f"name one of these columns with {option}: {', '.join(header)}"
            )
        names = (wanted,) if wanted is not None else usual
        if column := next((name for name in names if name in header), None):
            return column
        near = next((name for name in header if name.strip().lower() in usual and name != self.label), None)
        if near is not None:
            self.warn(f"the column {near!r} becomes a feature", f"if it is not a feature: {option} {near!r}")
        return None

    def mapped_as_text(self) -> frozenset[str]:
        """Return the columns of ids and texts in a mapping, in which 007 is not a number."""
        assert self.mapping is not None
        ids = () if is_of_record(self.mapping.id) else (self.mapping.id or "id",)
        paths = (*ids, *(self.mapping.text or ("text",)))
        return frozenset(keys[0] for path in paths for keys in parse_path(path).uses if keys)

    def mapped_label(self) -> str | None:
        """Return the column that a mapping uses as the label, unchanged."""
        assert self.mapping is not None
        keys = parse_path(self.mapping.label or "label").keys
        return keys[0] if keys and len(keys) == 1 else None


ANY_COLUMNS: Final = Columns()
