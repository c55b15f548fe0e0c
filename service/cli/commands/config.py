"""`perceptron config show`: the settings that a command would use here and now, and their sources."""

from __future__ import annotations

import json
from difflib import get_close_matches

import click
from pydantic import SecretStr

from service.cli.options import format_option, setting_options
from service.cli.output import echo_result
from service.cli.summary import table
from service.settings.fields import DECLARED, setting_values
from service.settings.load import Loaded, option_settings

_Row = tuple[object, str]


@click.group()
def config_command() -> None:
    """Look at the configuration."""


@config_command.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@setting_options(*option_settings())
@format_option()
def show(names: tuple[str, ...], loaded: Loaded, output: str) -> None:
    """Show every setting's value and where it came from, or those of NAME; passwords are masked.

    NAME is a setting, such as kafka.client_id, or a table of settings, such as kafka.

    The command line wins over the environment (PERCEPTRON_..., with __ for the dot), then .env,
    then the --config file, then the default.
    """
    rows = {
        name: (_plain(name, value), loaded.origins[name])
        for name, value in setting_values(loaded.settings).items()
    }
    rows = _chosen(rows, names)
    shown = {name: {"value": value, "source": origin} for name, (value, origin) in rows.items()}
    lines = [(name, json.dumps(value, ensure_ascii=False), origin) for name, (value, origin) in rows.items()]
    echo_result(output, shown, lambda: table(lines, left=3))


def _chosen(rows: dict[str, _Row], names: tuple[str, ...]) -> dict[str, _Row]:
    """Return the rows of these settings and tables; all of them if none is named."""
    chosen: dict[str, _Row] = {}
    for wanted in names:
        found = {name: row for name, row in rows.items() if name == wanted or name.startswith(f"{wanted}.")}
        if not found:
            meant = "".join(f"; did you mean {name}?" for name in get_close_matches(wanted, rows, n=1))
            raise click.BadParameter(f"{wanted!r} is no setting{meant}", param_hint="NAME")
        chosen |= found
    return chosen if names else rows


def _plain(name: str, value: object) -> object:
    """Make a value printable; a password becomes stars, always the same number."""
    if name in DECLARED and (shown := DECLARED[name].shown):
        return shown(value)
    if isinstance(value, SecretStr):
        return str(value)
    if value is None:
        return "auto"
    return list(value) if isinstance(value, tuple) else value
