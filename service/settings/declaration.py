"""Declare a setting: everything that other packages need to know about it.

From the declaration follow the option of the command line, the section of the reference, the value shown by
`config show` and in errors, and the config fingerprint in snapshots and model files.

Below are the text forms of settings. A function that parses or checks one returns the value, or raises
`ValueError` with the expected form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, StrEnum, auto
from math import isfinite
from typing import Annotated, Any, Final, NamedTuple, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from service.errors import pydantic_sentence
from service.messages.json_values import first_repeated, number_of_text, read_value
from service.messages.paths import parse_path
from service.messages.rejection import Rejection

MAX_NGRAM: Final = 10
MAX_PORT: Final = 65_535
_MIN_KEY_LENGTH: Final = 16

_HOST_NAME: Final = re.compile(r"[a-z0-9._-]+")
_IPV6: Final = re.compile(r"[0-9a-f:.]+")
_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # as in Apache Kafka's Topic.validate
_ALL: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Decides(Enum):
    """What a setting decides. All but those with `NOTHING` are in a snapshot's config fingerprint."""

    NOTHING = auto()
    MODEL = auto()
    """What is learned: with another value, the model is another model."""
    TEXT = auto()
    """What is learned, by the features of a text; the model `auto` makes its own."""
    FEATURES = auto()
    """What is learned, by the features of a record."""
    RECORDS = auto()
    """The effect of a record; it may change if no record must be replayed."""
    JOIN = auto()
    """The effect of a record, by how long and how many events wait for labels."""
    DECISIONS = auto()
    """The effect of a record, by decisions."""
    DRIFT = auto()
    """The effect of a record, by drift detection."""


class Section(StrEnum):
    """The sections of a command's help, in order."""

    STREAM = "Stream"
    INPUT = "Input"
    MODEL = "Model"
    LABELS = "Labels"
    DECISIONS = "Decisions"
    OPERATION = "Operation"
    HTTP = "HTTP"


class Declaration(NamedTuple):
    """The declaration of a setting, besides its type, default, description and bounds."""

    decides: Decides = Decides.NOTHING
    form: str = ""
    """Placeholder of its value on the command line, such as `URL`; empty: the placeholder of its type."""
    option: str = ""
    """Its option, if that differs from `--` and its name."""
    shown: Callable[[Any], object] | None = None
    """Returns the part of a value that may be shown, if the value may contain a secret."""
    kept: Callable[[Any], object] | None = None
    """Computes the fingerprint's entry from all settings, if that is not the value."""
    section: Section | None = None
    """The section of a command's help that starts with it; None: the section of the preceding setting."""
    common: bool = False
    """Whether ``--help`` shows its option for commands with many options."""


def setting(
    default: Any,  # noqa: ANN401 - as `Field`
    decides: Decides = Decides.NOTHING,
    *,
    parse: Callable[[object], object] | None = None,
    check: Callable[[Any], object] | None = None,
    **others: Any,  # noqa: ANN401 - as `Field`
) -> Any:  # noqa: ANN401 - as `Field`
    """Declare a setting, which the docstring below it describes.

    Parameters
    ----------
    default
        The default value.
    decides
        What the setting decides.
    parse
        Converts a value as users write it to the setting's type. Raises `ValueError`.
    check
        Checks a value of the setting's type, and returns it in normal form. Raises `ValueError`.
    others
        Further fields of `Declaration`, and bounds as in `Field`.

    """
    own = {name: others.pop(name) for name in Declaration._fields if name in others}
    field: FieldInfo = Field(default, **others)
    field.metadata.append(Declaration(decides, **own))
    if parse:
        field.metadata.append(BeforeValidator(parse))
    if check:
        field.metadata.append(AfterValidator(check))
    return field


def declaration(field: FieldInfo) -> Declaration:
    """Return the declaration of a setting."""
    return next(each for each in field.metadata if isinstance(each, Declaration))


class Table(BaseModel):
    """Settings, checked and frozen."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, value: object) -> object:
        return parse_object(value)

    @field_validator("*", mode="before")
    @classmethod
    def _check_is_not_a_boolean(cls, value: object, info: ValidationInfo) -> object:
        """Reject a boolean for a number, which Pydantic would read as 0 or 1."""
        kind = cls.model_fields[info.field_name or ""].annotation
        if {int, float}.isdisjoint((kind, *get_args(kind))):
            return value
        if any(isinstance(each, bool) for each in (value if isinstance(value, list) else [value])):
            raise ValueError("expected a number, got a boolean")
        return value


def disagreement(settings: tuple[str, ...], reason: str) -> PydanticCustomError:
    """Return an error about several settings; it is attributed to the first that was given."""
    return PydanticCustomError("settings_disagree", "{reason}", {"settings": settings, "reason": reason})


def parse_tables(value: object) -> object:
    """Return tables, which may be JSON, as a list; a single table makes a list of one."""
    parsed = parse_object(value)
    return [parsed] if isinstance(parsed, Mapping) and parsed else parsed or ()


def as_tables(value: Iterable[BaseModel]) -> list[dict[str, Any]]:
    """Return tables in the form that is shown."""
    return [each.model_dump() for each in value]


def split_names(value: object) -> object:
    """Turn ``"ham, spam"`` into ``["ham", "spam"]``."""
    return (
        [name.strip() for name in value.split(",")]
        if isinstance(value, str) and value.strip()
        else value or ()
    )


def split_paths(value: object) -> object:
    """Split text at its commas outside brackets and quotes.

    >>> split_paths("subject, join(', ', tags), body")
    ['subject', "join(', ', tags)", 'body']
    """
    if not isinstance(value, str):
        return value or ()
    pieces, open_brackets, quote, start = [], 0, "", 0
    for position, sign in enumerate(value):
        if quote:
            quote = "" if sign == quote and value[position - 1] != "\\" else quote
        elif sign in "'\"`":
            quote = sign
        elif sign in "([{":
            open_brackets += 1
        elif sign in ")]}":
            open_brackets -= 1
        elif sign == "," and not open_brackets:
            pieces.append(value[start:position].strip())
            start = position + 1
    return [piece for piece in (*pieces, value[start:].strip()) if piece]


def split_pairs(value: object) -> Any:  # noqa: ANN401 - what is not a table stays as it is
    """Convert a table, which may be JSON, to pairs of names and texts."""
    parsed = parse_object(value)
    return tuple(parsed.items()) if isinstance(parsed, Mapping) else parsed or ()


def split_named(value: object) -> Any:  # noqa: ANN401 - as of `split_pairs`
    """Convert ``","`` or ``"amount=,"`` to a pair of name (* for all) and text; a table as `split_pairs`.

    >>> split_named(","), split_named("amount=,"), split_named({"a": ".", "b": ","})
    ((('*', ','),), (('amount', ','),), (('a', '.'), ('b', ',')))
    """
    if isinstance(value, str) and value and not value.startswith("{"):
        name, equals, text = value.partition("=")
        return ((name.strip(), text),) if equals else (("*", value),)
    return split_pairs(value)


def split_values(value: object) -> object:
    """Split text at its commas into numbers and texts; NaN is a text, as no number equals it.

    >>> split_values("-9999,NaN,"), split_values([-1, float("nan")])
    ([-9999.0, 'NaN', ''], [-1, 'NaN'])
    """
    if isinstance(value, str):
        return [_number_or_text(each.strip()) for each in value.split(",")] if value else ()
    return ["NaN" if each != each else each for each in value] if isinstance(value, list) else value or ()  # noqa: PLR0124


def _number_or_text(text: str) -> float | str:
    try:
        return number if isfinite(number := number_of_text(text)) else text
    except ValueError:
        return text


def parse_ngrams(value: object) -> object:
    """Turn ``"2"``, ``2`` and ``"1-3"`` into (2, 2), (2, 2) and (1, 3)."""
    shortest, _, longest = str(value).strip().partition("-")
    if isinstance(value, (int, str)) and not shortest.strip().isdecimal():
        raise ValueError("expected N or MIN-MAX, such as 2 or 1-3")
    return (shortest, longest or shortest) if isinstance(value, (int, str)) else value


def parse_object(value: object) -> object:
    """Read a value written as a JSON object, as an environment variable holds it."""
    if not isinstance(value, str):
        return value
    try:
        return read_value(value.encode()) if value else {}
    except Rejection as error:
        raise ValueError(f"not JSON: {error.message}") from None


def parse_batch(value: object) -> object:
    """Turn ``"auto"`` into None; raises `ValueError` for other text that is not a whole number."""
    if isinstance(value, str) and value != "auto" and not value.strip().isdecimal():
        raise ValueError("expected a whole number, or auto")
    return None if value == "auto" else value


def reasons(error: ValidationError) -> list[str]:
    """Return the errors of settings: each with its name, without the value, which may be a secret."""
    return [reason(each) for each in error.errors(include_url=False, include_input=False)]


def reason(error: ErrorDetails, n_known: int = 0) -> str:
    """Return an error of Pydantic as the end of a sentence, after its location in the value.

    The first `n_known` names of the location are left out.
    """
    location = [f"entry {each + 1}" if isinstance(each, int) else each for each in error["loc"][n_known:]]
    return ": ".join([*location, pydantic_sentence(error, "setting")])


def lower(value: object) -> object:
    """Turn text into lower case."""
    return value.lower() if isinstance(value, str) else value


def written(value: object) -> str:
    """Format a value as users write it, or like Python's `repr`.

    >>> [written(value) for value in (("ham", "spam"), (1, 2), (3, 3), (), "words")]
    ['ham,spam', '1-2', '3', 'none', "'words'"]
    """
    if not isinstance(value, (tuple, list)):
        return repr(value)
    if all(isinstance(each, int) for each in value):
        return "-".join(map(str, dict.fromkeys(value))) or "none"
    return ",".join(map(str, value))


def as_label(value: object) -> object:
    """Format a label value that is not a text as in JSON: ``False`` as ``"false"``."""
    return json.dumps(value) if isinstance(value, (bool, int)) else value


def check_broker(broker: str) -> str:
    """Check the URL of a stream, which may be empty."""
    if broker and not broker.startswith(("kafka://", "sqlite://", "memory://")):
        raise ValueError("expected kafka://host:9092, sqlite:///path/stream.db or memory://")
    if broker.startswith("kafka://") and "@" in broker:
        raise ValueError("credentials belong in kafka.sasl_username and kafka.sasl_password, not in the URL")
    return broker


def check_path(path: str) -> str:
    """Check a path, which may be empty. Raises `PathError`."""
    if path:
        parse_path(path)
    return path


def check_topic_name(name: str) -> str:
    """Check the name of a topic, which may be empty."""
    if name and (not _TOPIC_NAME.fullmatch(name) or name in {".", ".."}):
        raise ValueError("expected 1 to 249 of the characters a-z A-Z 0-9 . _ -")
    return name


def check_classes(classes: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of classes: none, or at least two different ones."""
    if len(classes) == 1 or first_repeated(classes) is not None or not all(classes):
        raise ValueError("expected at least two different names, such as ham,spam")
    return classes


def check_ngrams(ngrams: tuple[int, int]) -> tuple[int, int]:
    """Check the lengths of the shortest and the longest n-gram."""
    if not 1 <= ngrams[0] <= ngrams[1] <= MAX_NGRAM:
        raise ValueError(f"expected 1 <= MIN <= MAX <= {MAX_NGRAM}")
    return ngrams


def check_key(key: SecretStr) -> SecretStr:
    """Check a secret, which may be empty, but not so short that its fingerprint reveals it."""
    if 0 < len(key.get_secret_value()) < _MIN_KEY_LENGTH:
        raise ValueError(f"expected at least {_MIN_KEY_LENGTH} characters, as `openssl rand -hex 32` prints")
    return key


def check_http(address: str) -> str:
    """Check the address of the HTTP server, which may be empty."""
    if address:
        split_address(address)
    return address


def check_hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return host names in the form of the Host header, without a port: lower case, IPv6 in brackets."""
    return tuple(_host(name) for name in names)


def _host(name: str) -> str:
    bare = name.lower().removeprefix("[").removesuffix("]")
    is_ipv6 = bare.count(":") > 1
    if not (_IPV6 if is_ipv6 else _HOST_NAME).fullmatch(bare):
        raise ValueError(f"{name!r}: expected a name or an address without a port, such as localhost")
    return f"[{bare}]" if is_ipv6 else bare


def split_address(address: str) -> tuple[str, int]:
    """Split ``host:port``; an IPv6 address is in brackets.

    >>> split_address("[::1]:8000")
    ('::1', 8000)
    """
    host, colon, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bare_ipv6 = ":" in bare and bare == host
    if not colon or not bare or bare_ipv6 or not port.isdecimal() or int(port) > MAX_PORT:
        raise ValueError("expected host:port, such as 127.0.0.1:8000 or [::1]:8000")
    return bare, int(port)


def url_at(host: str, port: int) -> str:
    """Return the URL of a server on this machine that listens at this address.

    >>> url_at("::1", 8000), url_at("0.0.0.0", 8000)
    ('http://[::1]:8000', 'http://localhost:8000')
    """
    name = "localhost" if host in _ALL else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach ``host:port``."""
    return split_address(address)[0].lower() in _LOOPBACK


Topic = Annotated[str, AfterValidator(check_topic_name)]
Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]
Paths = Annotated[tuple[str, ...], BeforeValidator(split_paths)]
