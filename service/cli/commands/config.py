"""`perceptron config show`: the settings that a command would use here and now, and their sources."""

from __future__ import annotations

import json

import click
from pydantic import SecretStr

from service.cli.options import setting_options
from service.cli.output import echo
from service.settings.load import Loaded, option_settings, setting_values
from service.settings.redaction import redacted_url


@click.group()
def command() -> None:
    """Look at the configuration."""


@command.command()
@setting_options(*option_settings())
@click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", help="Form of the output."
)
def show(loaded: Loaded, output: str) -> None:
    """Show every setting's value and where it came from; passwords are masked.

    The command line wins over the environment (PERCEPTRON_..., with __ for the dot), then .env,
    then the --config file, then the default.
    """
    rows = {
        name: (_plain(name, value), loaded.origins[name])
        for name, value in setting_values(loaded.settings).items()
    }
    if output == "json":
        shown = {name: {"value": value, "source": origin} for name, (value, origin) in rows.items()}
        echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    table = [(name, json.dumps(value, ensure_ascii=False), origin) for name, (value, origin) in rows.items()]
    widths = [max(len(row[column]) for row in table) for column in (0, 1)]
    for name, value, origin in table:
        echo(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}")


def _plain(name: str, value: object) -> object:
    """Make a value printable; a password becomes stars, of a length that tells nothing."""
    if isinstance(value, SecretStr):
        return str(value)
    if name == "broker":
        return redacted_url(str(value))
    return list(value) if isinstance(value, tuple) else value
