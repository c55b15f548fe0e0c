"""Declare a setting: all that other rooms read about it stands where the setting stands.

The command line makes an option of it, the reference a section, `config show` and errors what may be shown of
its value, snapshots and model files the config fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from service.settings.forms import parse_object


class Decides(Enum):
    """What a setting decides. All but `NOTHING` are in the config fingerprint of a snapshot."""

    NOTHING = auto()
    MODEL = auto()
    """What is learned: a model made under another value is another model."""
    TEXT = auto()
    """The same, through the features of a text; the model `auto` makes its own."""
    FEATURES = auto()
    """The same, through the features of a record."""
    RECORDS = auto()
    """What a record does: it may change where no record must be replayed."""
    JOIN = auto()
    """The same, through how long and how many events wait for their labels."""
    DECISIONS = auto()
    """The same, through decisions."""
    DRIFT = auto()
    """The same, through drifts."""


class Declaration(NamedTuple):
    """What a setting declares beside its type, default, description and bounds."""

    decides: Decides = Decides.NOTHING
    form: str = ""
    """What the command line calls its value, such as `URL`; empty: what its type is called."""
    option: str = ""
    """Its option, if that is not `--` and its name."""
    shown: Callable[[Any], object] | None = None
    """Returns what may be shown of a value that may have a secret in it."""
    kept: Callable[[Any], object] | None = None
    """Makes of all settings what a fingerprint keeps, if that is not the value."""


def setting(default: Any, description: str, decides: Decides = Decides.NOTHING, **others: Any) -> Any:  # noqa: ANN401 - as `Field`
    """Declare a setting; `others` are the rest of a `Declaration`, and bounds as `Field` has them."""
    own = {name: others.pop(name) for name in Declaration._fields if name in others}
    field: FieldInfo = Field(default, description=description, **others)
    field.metadata.append(Declaration(decides, **own))
    return field


def declaration(field: FieldInfo) -> Declaration:
    """Return what a setting declares."""
    return next(each for each in field.metadata if isinstance(each, Declaration))


class Table(BaseModel):
    """Settings, checked and frozen."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _check_is_not_a_boolean(cls, value: object, info: ValidationInfo) -> object:
        """Refuse a boolean for a number, which Pydantic takes as 0 or 1."""
        kind = cls.model_fields[info.field_name or ""].annotation
        if {int, float}.isdisjoint((kind, *get_args(kind))):
            return value
        if any(isinstance(each, bool) for each in (value if isinstance(value, list) else [value])):
            raise ValueError("expected a number, not a boolean")
        return value


def disagreement(settings: tuple[str, ...], reason: str) -> PydanticCustomError:
    """Make an error about several settings; the one that was not left at its default is to blame."""
    return PydanticCustomError("settings_disagree", "{reason}", {"settings": settings, "reason": reason})


def parse_tables(value: object) -> object:
    """Return tables, which may be written as JSON, as a list; one may stand for itself."""
    found = parse_object(value)
    return [found] if isinstance(found, Mapping) and found else found or ()


def as_tables(value: Iterable[BaseModel]) -> list[dict[str, Any]]:
    """Return tables as they are shown."""
    return [each.model_dump() for each in value]
