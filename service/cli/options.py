"""Generate command line options from the settings, so that each is described in one place.

A decorated command receives ``loaded``, the checked settings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from service.cli.help import HELP_ALL, MAX_SHOWN, PREFIX
from service.cli.output import report_progress, report_warning
from service.errors import ConfigurationError
from service.logs import log_to_stderr
from service.settings.declaration import Decides, declaration, split_named
from service.settings.fields import FIELDS, MAPPING, SECRETS, TOPIC_SETTINGS, names_that_decide
from service.settings.load import DEFAULT, Loaded, load_settings, parse_scalar
from service.stream.protocol import Transport

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
STREAM = ("broker", "kafka_client")
"""Settings of a command that opens the stream."""

SERVICE = (*STREAM, "group", "topic_prefix", *TOPIC_SETTINGS)
"""Settings that identify the service, as options for all commands that need some of them."""

REGISTRY = ("schema_registry.url", "schema_registry.username", "schema_registry.ssl_cafile")
"""Settings of the Schema Registry, without the secret ones."""

LEARNING = (
    *(name for name in names_that_decide(Decides.MODEL, Decides.TEXT) if name not in SECRETS),
    "max_message_bytes",
    *MAPPING,
)
"""Settings that decide what is learned from a message."""

READING = tuple(name for name in LEARNING if name not in {"model", "model_params"})
"""Settings that decide what is read from a message, for commands with another option for the model."""

WAITING = (*names_that_decide(Decides.JOIN), "max_event_time_ahead_seconds")
"""Settings that decide which events wait for their labels."""

PARTS = names_that_decide(Decides.DECISIONS, Decides.DRIFT)
"""Settings of outputs derived from predictions."""

STATE = (*SERVICE, *LEARNING, *names_that_decide(Decides.RECORDS, Decides.JOIN), *PARTS)
"""Settings that decide the state of a partition."""


def with_options(command: Command, *options: Decorator) -> Command:
    """Return a command with options, in the order of its help."""
    for option in reversed(options):
        command = option(command)
    return command


def gathered_options(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """Add options to a command, which gets them as one keyword argument, a dataclass with their names."""
    names = [each.name for each in fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(*args: object, **given: Any) -> Any:  # noqa: ANN401 - the command's own types
            made = kind(**{each: given.pop(each) for each in names if each in given})
            return command(*args, **{name: made}, **given)

        return with_options(run, *options)

    return decorate


def setting_options(*names: str, logs: bool = False) -> Decorator:
    """Add ``--config`` and an option for each of the named settings to a command, once for each name.

    The command gets the checked settings as the keyword argument `loaded` (a `Loaded`); only what
    the user gave overrides environment and files. Names of nested settings have a dot. With `logs`, later
    reports are log lines, in the configured format.

    Raises
    ------
    ConfigurationError
        The command is run with an invalid value, from any source.

    """
    names = tuple(dict.fromkeys(names))

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(*args: object, config_file: Path | None, **given: Any) -> Any:  # noqa: ANN401 - the command's own types
            command_line = {name: given.pop(_parameter(name)) for name in names}
            loaded = _load(command_line, config_file, logs=logs)
            return command(*args, loaded=loaded, **given)

        more = [HELP_ALL] * (len(names) > MAX_SHOWN)
        return with_options(run, *map(_option, names), _CONFIG, *more)

    return decorate


_CONFIG = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with settings; environment and command line override it.",
)


def format_option(description: str = "Output format.") -> Decorator:
    """Return the option that chooses between text and JSON; the command gets it as `output`."""
    choices = click.Choice(["text", "json"])
    return click.option("--format", "output", type=choices, default="text", help=description)


def topic_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return a topic's name. Reject bytes, which an argument may be, that are not text."""
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"expected text, got {value!a}") from None
    return value


def topic_option(description: str) -> Decorator:
    """Return the option for a topic, which need not be in the settings."""
    return click.option("--topic", callback=topic_name, metavar="TEXT", help=description)


def broker_url(loaded: Loaded) -> str:
    """Return the stream's URL; report on stderr if it is the default."""
    settings = loaded.settings
    if not settings.broker:
        report_progress(f"without --broker, the stream is {settings.broker_url}")
    return settings.broker_url


def opened_stream(loaded: Loaded) -> AbstractContextManager[Transport]:
    """Open an existing stream, for the duration of the context."""
    from service.partition.factory import open_stream  # noqa: PLC0415 - the learners, which no help needs

    return closing(open_stream(loaded.settings, broker_url(loaded), create=False))


def check_partition(partition: int | None, count: int) -> int:
    """Return the given partition, or the only one. Raises `ConfigurationError`."""
    if partition is None and count > 1:
        raise ConfigurationError(
            f"expected --partition: there are {count} partitions", hint="choose one with --partition"
        )
    partition = partition or 0
    if partition >= count:
        raise ConfigurationError(
            f"--partition {partition}: expected a number below {count}",
            hint=f"partitions count from 0 to {count - 1}",
        )
    return partition


def _load(command_line: Mapping[str, object], config_file: Path | None, *, logs: bool) -> Loaded:
    loaded = load_settings(command_line, config_file)
    if logs:
        log_to_stderr(loaded.settings.log_level, loaded.settings.log_format)
    for variable, hint in loaded.unknown_variables.items():
        report_warning(f"unknown environment variable {variable} is ignored", hint=hint)
    warn_of_ignored_settings(loaded, loaded.settings.model)
    return loaded


def warn_of_ignored_settings(loaded: Loaded, *models: str) -> None:
    """Warn of settings that were given and that one of the models ignores."""
    origins = {name: loaded.origins[name] for name in names_that_decide(Decides.TEXT)}
    given = [f"{name} ({origin})" for name, origin in origins.items() if origin != DEFAULT]
    has_bits = "hash_bits" in loaded.settings.model_params and loaded.origins["hash_bits"] != DEFAULT
    if not (given or has_bits):
        return
    from service.models.registry import OWN_FEATURES  # noqa: PLC0415 - it brings River

    if has_bits and loaded.settings.model in OWN_FEATURES:
        report_warning("model_params.hash_bits overrides the setting hash_bits")
    for model in OWN_FEATURES.keys() & models if given else ():
        report_warning(f"the model {model} makes its own features and ignores {', '.join(given)}")


def _parameter(name: str) -> str:
    return PREFIX + name.replace(".", "__")


def _option(name: str) -> Decorator:
    """Make the option of a setting from its declaration."""
    if name in SECRETS:
        raise ValueError(f"{name} is a secret: other users of a machine can see its command lines")
    field = FIELDS[name]
    declared = declaration(field)
    flag = "--" + name.replace("_", "-").replace(".", "-")
    described: dict[str, Any] = {"default": None, "help": _help(field)}
    if field.annotation is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", _parameter(name), **described)
    described |= {"multiple": True, "callback": _once}
    if choices := _choices(field.annotation):
        return click.option(flag, _parameter(name), type=click.Choice(choices), **described)
    described |= {"metavar": declared.form or _TYPE_FORMS.get(field.annotation, "TEXT")}
    described |= _FORMS.get(declared.form, {})
    if declared.option and declared.form in _FORMS:
        return click.option(declared.option, _parameter(name), **described)
    flags = (flag, declared.option) if declared.option else (flag,)
    return click.option(*flags, _parameter(name), **described)


def _choices(annotation: object) -> list[str]:
    return [choice for choice in get_args(annotation) if choice] if get_origin(annotation) is Literal else []


def _help(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    shown = f"  [default: {_written(default)}]" if default not in ("", (), {}) else ""
    return " ".join((field.description or "").split()) + shown


def _written(default: object) -> str:
    if default is None:
        return "auto"
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, tuple):
        return "-".join(str(part) for part in dict.fromkeys(default))
    return str(default)


def _once(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Return the value; reject several, of which the last would silently win."""
    if len(given) > 1:
        raise click.BadParameter(f"expected one value, got {len(given)}: {', '.join(given)}")
    return given[0] if given else None


def _parse_parameters(
    context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, object] | None:
    """Turn ``threshold=0.5`` into ``{"threshold": 0.5}``."""
    texts = _parse_pairs(context, parameter, pairs)
    return {key: parse_scalar(text) for key, text in texts.items()} if texts else None


def _parse_pairs(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str] | None:
    """Turn ``a=b/c`` into ``{"a": "b/c"}``."""
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"expected key=value, got {pair!r}")
        texts[key.strip()] = text
    return texts or None


def _merge_named(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str] | None:
    """Turn ``a=,`` and ``b=.`` into ``{"a": ",", "b": "."}``."""
    try:
        return {name: text for each in given for name, text in split_named(each)} or None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_TYPE_FORMS: Final[Mapping[Any, str]] = {int: "INTEGER", float: "NUMBER"}
_FORMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "FILE": {"multiple": True, "callback": lambda _, __, files: files or None},
    "KEY=VALUE": {"multiple": True, "callback": _parse_parameters},
    "NAME=EXPRESSION": {"multiple": True, "callback": _parse_pairs},
    "[NAME=]SEPARATOR": {"multiple": True, "callback": _merge_named},
    "[NAME=]FORMAT": {"multiple": True, "callback": _merge_named},
}
"""Further arguments of options whose values have a syntax."""
