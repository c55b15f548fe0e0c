"""Load the settings and remember the source of each value.

Sources in order of precedence: command line, environment, ``.env``, TOML file, defaults. The result is a
frozen `Settings` with the origin of each value, or a `ConfigurationError` with the setting, the value, its
origin and the reason. A secret ``x`` may also be given as ``x_file``, a file with the secret.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from dotenv import dotenv_values
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from service.errors import ConfigurationError, cut
from service.redaction import STARS, redacted
from service.settings.code import instead_of
from service.settings.declaration import parse_object, reason
from service.settings.fields import FIELDS, MAPPING, SECRETS, TABLES, Settings, setting_values

__all__ = ["Loaded", "Settings", "load_settings", "option_settings", "parse_scalar"]

ENVIRONMENT_PREFIX: Final = "PERCEPTRON_"
COMMAND_LINE, DOTENV, DEFAULT = "command line", ".env", "default"

# Environment variables of this project that configure tests or the build, not the service.
_NOT_SETTINGS = re.compile(r"PERCEPTRON_(TEST_.*|REQUIRE_.*|CHAOS|UNCOMPILED|SANITIZE)")
_DOTENV_VARIABLE = re.compile(rf"(?im)^[ \t]*(?:export[ \t]+)?({ENVIRONMENT_PREFIX}\w+)")

_MAX_LINES = 20

_FREE = ("model_params",)
"""Settings that are tables with names chosen by the user."""
_OBJECTS = {*TABLES, *_FREE}
_SECRET_FILES = {f"{secret}_file": secret for secret in SECRETS}
"""Secrets mounted into a container: the file, and the setting in it."""
_NAMES = FIELDS.keys() | TABLES.keys() | _SECRET_FILES.keys()


@dataclass(frozen=True)
class Loaded:
    """The settings and their origins."""

    settings: Settings
    origins: Mapping[str, str]
    """The origin of each of `setting_values`: "command line", "environment NAME", ".env", file, "default"."""
    unknown_variables: Mapping[str, str]
    """Environment variables with the service's prefix that are not settings, each with a hint."""


class _Given(NamedTuple):
    """A given value, and the name of its source."""

    value: object
    origin: str


def load_settings(command_line: Mapping[str, object], config_file: Path | None = None) -> Loaded:
    """Merge all sources and check the result.

    Parameters
    ----------
    command_line
        Values by dotted name; None counts as not given.
    config_file
        A TOML file, or None.

    Raises
    ------
    ConfigurationError
        A value is invalid, or a file cannot be read.

    """
    given = {  # in ascending precedence
        **(_from_toml(config_file) if config_file else {}),
        **_from_dotenv(),
        **_from_variables(os.environ, "environment {}"),
        **_from_mapping(command_line, COMMAND_LINE),
    }
    given = _with_secrets_read(given)
    try:
        settings = Settings(**_unflatten(given))
    except ValidationError as errors:
        raise _explain(errors, given) from None
    origins = {name: given[name].origin if name in given else DEFAULT for name in setting_values(settings)}
    unknown = {_variable(name): _closest(name, _variable) for name in _unknown_names(os.environ)}
    return Loaded(settings, origins, unknown)


def option_settings() -> tuple[str, ...]:
    """Return the names of the settings with an option: all but secrets."""
    return tuple(name for name in FIELDS if name not in SECRETS)


def parse_scalar(text: str) -> object:
    """Parse a number, true, false, null or a quoted string as JSON; return any other text unchanged.

    >>> [parse_scalar(text) for text in ("1e-3", "true", "l2", "NaN")]
    [0.001, True, 'l2', 'NaN']
    """
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, (dict, list)) else value


def _variable(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.upper().replace(".", "__")


def _named(variables: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (variable, dotted name) for the variables with the service's prefix, in any case."""
    for variable in sorted(variables, key=str.lower):  # PERCEPTRON_KAFKA before PERCEPTRON_KAFKA__...
        name = variable.upper().removeprefix(ENVIRONMENT_PREFIX)
        if name != variable.upper():
            yield variable, name.lower().replace("__", ".", 1)


def _is_setting(name: str) -> bool:
    return name in _NAMES or name.partition(".")[0] in _FREE


def _unknown_names(variables: Iterable[str]) -> Iterator[str]:
    for variable, name in _named(variables):
        if not _is_setting(name) and not _NOT_SETTINGS.fullmatch(variable.upper()):
            yield name


def _from_variables(variables: Mapping[str, str | None], origin: str) -> dict[str, _Given]:
    given: dict[str, _Given] = {}
    for variable, name in _named(variables):
        if _is_setting(name):
            text = variables[variable] or ""
            is_free = "." in name and name.partition(".")[0] in _FREE
            value = parse_scalar(text) if is_free else _parse_table(name, text)
            given |= _from_mapping({name: value}, origin.format(variable.upper()))
    return given


def _parse_table(name: str, text: str) -> object:
    """Parse a table in JSON; other text is left to the validation."""
    with suppress(ValueError):
        return parse_object(text) if name in _OBJECTS else text
    return text


def _from_dotenv() -> dict[str, _Given]:
    """Read ``.env`` in the working directory, if there is one; ignore other programs' variables in it."""
    path, hint = Path(DOTENV), "make it readable, in UTF-8, with each quote closed"
    if path.is_fifo():
        raise ConfigurationError(f"{DOTENV}: expected a regular file, found a named pipe", hint=hint)
    text = _read(path, DOTENV, hint) if path.exists() and not path.is_dir() else ""
    variables = dotenv_values(stream=StringIO(text))
    # python-dotenv only logs a line that it cannot parse.
    if lost := set(_DOTENV_VARIABLE.findall(text)) - variables.keys():
        raise ConfigurationError(f"{min(lost)} (from {DOTENV}): expected NAME=value", hint=hint)
    for name in _unknown_names(variables):
        hint = _closest(name, _variable)
        raise ConfigurationError(f"{_variable(name)} (from {DOTENV}): unknown setting", hint=hint)
    return _from_variables(variables, DOTENV)


def _from_toml(path: Path) -> dict[str, _Given]:
    text = _read(path, str(path), "check the path of --config")
    try:
        given = _from_mapping(tomllib.loads(text), str(path))
    except tomllib.TOMLDecodeError as error:  # its text ends with "(at line 1, column 5)"
        hint = "write a setting as name = value, and text in quotes"
        raise ConfigurationError(f"{path}: not TOML: {error}", hint=hint) from None
    for name in given:
        if not _is_setting(name):
            raise ConfigurationError(f"{name} (from {path}): unknown setting", hint=_closest(name))
    return given


def _from_mapping(values: Mapping[str, object], origin: str) -> dict[str, _Given]:
    """Flatten nested values: ``{"kafka": {"a": 1}}`` to ``{"kafka.a": 1}``. None counts as not given."""
    given: dict[str, _Given] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and name in _OBJECTS:
            given |= {f"{name}.{key}": _Given(inner, origin) for key, inner in value.items()}
        elif value is not None:
            given[name] = _Given(value, origin)
    return given


def _with_secrets_read(given: dict[str, _Given]) -> dict[str, _Given]:
    """Replace each file of a secret by its contents."""
    read = {name: value for name, value in given.items() if name not in _SECRET_FILES}
    for name in sorted(given.keys() - read.keys()):
        secret, (path, origin) = _SECRET_FILES[name], given[name]
        if secret in read:
            raise ConfigurationError(
                f"{secret} (from {read[secret].origin}) and {name} (from {origin}) are both set",
                hint=f"set one of them: the secret itself, or its file ({name})",
            )
        read[secret] = _Given(_read_secret(name, str(path), origin), f"file {path}")
    return read


def _read_secret(name: str, path: str, origin: str) -> str:
    """Read a secret from a file, without the newline at the end; errors do not show it."""
    location = f"{name} = {path!r} (from {origin})"
    hint = f"set {name} to a readable file with only the secret in it"
    if secret := _read(Path(path), location, hint).rstrip("\r\n"):
        return secret
    raise ConfigurationError(f"{location}: the file is empty", hint=hint)


def _read(path: Path, location: str, hint: str) -> str:
    """Return the text of a file. Raises `ConfigurationError` with `location`."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}"
    raise ConfigurationError(f"{location}: {reason}", hint=hint)


def _unflatten(given: Mapping[str, _Given]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, (value, _) in sorted(given.items()):  # "kafka" before "kafka.x"
        outer, _, inner = name.partition(".")
        if not inner:
            nested[outer] = value
        elif isinstance(holder := nested.setdefault(outer, {}), dict):
            holder[inner] = value
    return nested


def _closest(name: str, spell: Callable[[str], str] = str) -> str:
    if instead := instead_of(name):
        return instead
    match = difflib.get_close_matches(name, _NAMES, n=1)
    return f"did you mean {spell(match[0])}?" if match else "`perceptron config show` lists every setting"


def _explain(errors: ValidationError, given: Mapping[str, _Given]) -> ConfigurationError:
    """Describe each error: the setting, its value, the origin of the value, and the reason."""
    details = errors.errors(include_url=False)
    names = [_blamed(error, given) for error in details[:_MAX_LINES]]
    lines = [_sentence(name, error, given) for name, error in zip(names, details, strict=False)]
    paths = [[each for each in error["loc"] if isinstance(each, str)] for error in details[:_MAX_LINES]]
    hint = next(filter(None, (instead_of(".".join(path)) for path in paths)), "")
    hint = hint or f"correct {names[0]}; `perceptron serve --help-all` describes the settings"
    more = [f"and {len(details) - _MAX_LINES} more"] * (len(details) > _MAX_LINES)
    return ConfigurationError(*dict.fromkeys(lines), *more, hint=hint)


def _blamed(error: ErrorDetails, given: Mapping[str, _Given]) -> str:
    """Return the name of the invalid setting; of several that disagree, the first that was given."""
    named = ".".join(str(part) for part in error["loc"])
    candidates: tuple[str, ...] = error.get("ctx", {}).get("settings") or (named, *_outer(named))
    return next((name for name in candidates if name in given), candidates[0])


def _sentence(name: str, error: ErrorDetails, given: Mapping[str, _Given]) -> str:
    value, origin = given.get(name, _Given(setting_values(Settings()).get(name), DEFAULT))
    return f"{name} = {_shown(name, value)} (from {origin}): {reason(error, name.count('.') + 1)}"


def _outer(name: str) -> Iterator[str]:
    """Yield ``a.b`` and ``a`` for ``a.b.c``."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _shown(name: str, value: object) -> str:
    """Return a value for an error message; under a mistyped name it may be a secret."""
    if name in SECRETS or name in TABLES or not _is_setting(name):
        return STARS
    return cut(repr(value) if name in MAPPING else redacted(value), 400)
