"""Settings of the mapping: where records of any shape have the fields of events and labels.

The paths of `EventSettings` and `LabelSettings` are checked to be valid JMESPaths.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, model_validator

from service.messages.json_values import first_repeated
from service.messages.labels import TrueLabel, UnknownLabelError, Vocabulary
from service.messages.paths import Path, parse_path
from service.settings import declaration as forms
from service.settings.code import with_version
from service.settings.declaration import Decides, Paths, Table, disagreement, setting
from service.settings.parts import WindowSettings, check_windows

InputFormat = Literal["json", "avro", "protobuf", "json-schema", "text"]
"""Formats of a record's value; `service.formats` has a reader for each."""

_PATHS: Final = "PATH,PATH,…"
EVERYTHING: Final = "*"
"""A feature that stands for all other fields; after a path, for all fields below it."""
OFFSET, KEY, HEADER = "@offset", "@key", "@header."
_OF_NO_FIELD: Final = frozenset({"label_on_timeout", "unlabelled"})
"""Settings that do not locate fields in a record."""
_OF_TEXT: Final = frozenset({"format", "id", "text_format"})
"""Settings of records that are plain text."""


def is_of_record(location: str) -> bool:
    """Return whether an id is in the key, headers or offset of the record, not in its value."""
    return location in {KEY, OFFSET} or (location.startswith(HEADER) and location != HEADER)


def feature_path(entry: str) -> tuple[Path | None, bool]:
    """Return the path of a feature, None for the whole document, and whether all fields below are meant.

    >>> path, everything = feature_path("after.*")
    >>> path.expression, everything, feature_path("*")
    ('after', True, (None, True))
    """
    if entry == EVERYTHING:
        return None, True
    head, dot, tail = entry.rpartition(".")
    if dot and tail == EVERYTHING and (path := parse_path(head)).keys:
        return path, True
    return parse_path(entry), False


def _check_id(location: str) -> str:
    return location if is_of_record(location) else forms.check_path(location)


def _check_features(entries: tuple[str, ...]) -> tuple[str, ...]:
    for entry in entries:
        feature_path(entry)
    if twice := first_repeated(entries):
        raise ValueError(f"expected each feature once, got {twice!r} twice")
    return entries


def _check_exclude(paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        if not parse_path(path).keys:
            raise ValueError(f"expected names with dots, such as a.b, got the expression {path!r}")
    return paths


Pairs = tuple[tuple[str, str], ...]
_Decimals = tuple[tuple[str, Literal[".", ","]], ...]


def _check_time_formats(formats: Pairs) -> Pairs:
    for _, form in formats:
        try:
            datetime.strptime(datetime(2001, 12, 31, tzinfo=UTC).strftime(form), form)  # noqa: DTZ007 - a check
        except (ValueError, re.error):  # strptime compiles the format to a regular expression
            raise ValueError(f"expected a strptime format, such as %d.%m.%Y %H:%M, got {form!r}") from None
        if "%" not in form:
            raise ValueError(f"expected a directive, such as %Y, in {form!r}")
    return formats


def _check_hook(reference: str) -> str:
    if reference and ":" not in reference:
        raise ValueError("expected package.module:function or path/to/file.py:function")
    return reference


def _check_derive(pairs: Pairs) -> Pairs:
    from service.expressions import ExpressionError, compile_expression  # noqa: PLC0415 - River

    earlier: set[str] = set()
    for name, expression in pairs:
        if not name or name in earlier:
            raise ValueError(f"expected names that differ and are not empty, got {name!r}")
        try:
            compile_expression(expression, earlier)
        except ExpressionError as error:
            raise ValueError(f"{name}: {error}") from None
        earlier.add(name)
    return pairs


_OnePath = Annotated[str, AfterValidator(forms.check_path)]
_ManyPaths = Annotated[
    Paths, AfterValidator(lambda paths: tuple(parse_path(each).expression for each in paths))
]


class LabelSettings(Table):
    """Where the labels topic has id and label; what is not given is as in the native schema."""

    format: InputFormat = setting("json", Decides.RECORDS)
    """Format of record values: json; avro, protobuf or json-schema in Confluent's wire format, with a Schema
    Registry; text if the whole value is one text."""
    id: str = setting("", Decides.RECORDS, common=True, check=_check_id)
    """Where the id of a label's event is: a JMESPath, @key or @header.NAME."""
    label: _OnePath = setting("", Decides.RECORDS, common=True)
    """Where the label is: a JMESPath, such as status == 'spam'."""
    timestamp: _OnePath = setting("", Decides.RECORDS, common=True)
    """Where the event time is (empty: the record's timestamp): a JMESPath to seconds, milliseconds or ISO
    8601."""
    time_format: Pairs = setting(
        (), Decides.RECORDS, form="[NAME=]FORMAT", parse=forms.split_named, check=_check_time_formats
    )
    """Format of times that are neither numbers nor ISO 8601, for Python's strptime, such as
    %d.%m.%Y %H:%M:%S: for all fields, or NAME=FORMAT for one; may be given several times."""
    where: _OnePath = setting("", Decides.RECORDS)
    """Filter of records: a JMESPath, such as op == 'c'. Records for which it is false or null are skipped and
    counted; they make no dead letters."""
    unknown_fields: Literal["", "reject", "ignore"] = setting("", Decides.RECORDS)
    """What to do with fields that no setting uses (empty: reject them in the native schema, ignore
    them where anything is mapped)."""

    @property
    def is_mapped(self) -> bool:
        """Whether any setting differs from the native schema."""
        own = type(self)()
        given = {name for name, value in self if value != getattr(own, name)} - _OF_NO_FIELD
        return bool(given - {"unknown_fields"}) or self.unknown_fields == "ignore"

    @property
    def has_native_fields(self) -> bool:
        """Whether at most the format of values differs from the native schema."""
        plain = {"format": "json", "decimal": (), "time_format": ()}
        plain = {name: value for name, value in plain.items() if name in type(self).model_fields}
        return not self.model_copy(update=plain).is_mapped

    @property
    def maps_fields(self) -> bool:
        """Whether the settings locate fields."""
        return self.format != "text" and not self.has_native_fields

    @model_validator(mode="after")
    def _check_text(self) -> Self:
        if self.format != "text":
            return self
        table = self.table()
        if not is_of_record(self.id):
            names = (f"{table}.id", f"{table}.format")
            wanted = f"{names[1]} = text has no fields: set {names[0]} to @key, @header.NAME or @offset"
            raise disagreement(names, wanted)
        for name, field in type(self).model_fields.items():
            if name not in _OF_TEXT | _OF_NO_FIELD and getattr(self, name) != field.default:
                names = (f"{table}.{name}", f"{table}.format")
                raise disagreement(names, f"{names[1]} = text has no fields for {names[0]}")
        return self

    @classmethod
    def table(cls) -> str:
        """Return the name of the table of these settings."""
        return "labels"


class EventSettings(LabelSettings):
    """Where the events topic has id, text, features and label; else as in the native schema."""

    id: str = setting("", Decides.RECORDS, common=True, check=_check_id)
    """Where an event's id is: a JMESPath, @key, @header.NAME or @offset."""
    text: _ManyPaths = setting((), Decides.FEATURES, common=True, form=_PATHS)
    """Where the texts are: JMESPaths, joined by a newline."""
    features: Paths = setting((), Decides.FEATURES, common=True, form=_PATHS, check=_check_features)
    """Where the features are: JMESPaths; * for all other fields, a.* for all fields below a."""
    vectors: _ManyPaths = setting((), Decides.FEATURES, form=_PATHS)
    """Where lists of numbers are: JMESPaths. A list e becomes the features e[0], e[1], …."""
    missing: tuple[float | str, ...] = setting(
        (), Decides.FEATURES, form="VALUE,VALUE,…", parse=forms.split_values
    )
    """Values that stand for a missing value, such as -9999,NaN: they make no feature."""
    decimal: _Decimals = setting((), Decides.FEATURES, form="[NAME=]SEPARATOR", parse=forms.split_named)
    """Decimal separator of numbers that are strings, such as 9,91 or 1,234.50: for all fields, or
    NAME=SEPARATOR for one; may be given several times. Thousands may be separated."""
    time_format: Pairs = setting(
        (), Decides.FEATURES, form="[NAME=]FORMAT", parse=forms.split_named, check=_check_time_formats
    )
    """Format of times that are strings, for Python's strptime, such as %d.%m.%Y %H:%M:%S: for all fields, or
    NAME=FORMAT for one; may be given several times. Times become seconds since 1970."""
    text_format: Literal["plain", "html"] = setting("plain", Decides.FEATURES)
    """Format of the texts; HTML is reduced to the text that a reader sees."""
    derive: Pairs = setting(
        (),
        Decides.FEATURES,
        form="NAME=EXPRESSION",
        max_length=256,
        parse=forms.split_pairs,
        check=_check_derive,
    )
    """Computed features: name = expression; may be given several times."""
    hook: str = setting(
        "",
        Decides.FEATURES,
        form="MODULE:FUNCTION",
        option="--features",
        kept=lambda settings: with_version(settings.events.hook),
        check=_check_hook,
    )
    """Function that returns the features of a record, or features and a text: package.module:function or
    path/to/file.py:function."""
    windows: tuple[WindowSettings, ...] = setting(
        (),
        Decides.FEATURES,
        form="JSON",
        shown=forms.as_tables,
        max_length=8,
        parse=forms.parse_tables,
        check=check_windows,
    )
    """Features of earlier events with the same key: tables [[events.windows]] with by, over, of and max_keys,
    or JSON."""
    exclude: Paths = setting((), Decides.FEATURES, form=_PATHS, check=_check_exclude)
    """Fields that are not features: paths such as a.b."""
    tenant: _OnePath = setting("", Decides.FEATURES)
    """Where an event names its tenant: a JMESPath. Each feature is learned for all and for this tenant."""
    label_on_timeout: str = setting("", Decides.RECORDS, parse=forms.as_label)
    """Class of an event whose label has not come after label_timeout_seconds."""
    unlabelled: Literal["matched", "at_timeout"] = setting("matched", Decides.RECORDS)
    """When an event without a label is learned as label_on_timeout: after a delay drawn from the delays of
    earlier labels, or at the timeout."""

    def truth_on_timeout(self, classes: Sequence[str]) -> TrueLabel | None:
        """Return the class, among these, of an event that times out without a label; None if there is none.

        Raises
        ------
        PydanticCustomError
            The setting has another class; never raised for a checked `Settings`.

        """
        if not self.label_on_timeout:
            return None
        try:
            return Vocabulary(classes).truth_of_text(self.label_on_timeout)
        except UnknownLabelError as error:
            raise disagreement(("events.label_on_timeout", "classes"), str(error)) from None

    @model_validator(mode="after")
    def _check_vectors(self) -> Self:
        if both := {*self.features} & {*self.vectors}:
            names = ("events.vectors", "events.features")
            raise disagreement(
                names, f"{min(both)!r} is in both, but one makes numbers, the other categories"
            )
        return self

    @model_validator(mode="after")
    def _check_windows(self) -> Self:
        others = {"events.derive": [name for name, _ in self.derive], "events.features": self.features}
        made = {name for window in self.windows for name in window.feature_names()}
        for other, names in others.items():
            if both := made & {*names}:
                raise disagreement(("events.windows", other), f"{min(both)!r} is made by {other} as well")
        for name, expression in self.derive if made else ():
            from service.expressions import compile_expression  # noqa: PLC0415 - River

            if later := made & {".".join(keys) for keys in compile_expression(expression).uses}:
                why = "windows count derived features, so these are computed before them"
                hint = "the model has both as features, and can combine them"
                reason = f"{name} uses {min(later)!r}, a feature of events.windows: {why}; {hint}"
                raise disagreement(("events.derive", "events.windows"), reason)
        return self

    @model_validator(mode="after")
    def _check_label_is_left_out(self) -> Self:
        takes_all = any(feature_path(entry)[1] for entry in self.features)
        if takes_all and self.label and () in parse_path(self.label).uses:
            names = ("events.label", "events.features")
            reason = "events.label uses the whole record, so * has no fields left: name the features"
            raise disagreement(names, reason)
        return self

    @classmethod
    def table(cls) -> str:
        """Return the name of the table of these settings."""
        return "events"
