"""`perceptron schema`: print the JSON Schema of a message."""

from __future__ import annotations

import json

import click

from service.cli.output import echo
from service.messages.schema import KINDS, json_schema


@click.command()
@click.argument("message", type=click.Choice(list(KINDS)))
def command(message: str) -> None:
    """Print the JSON Schema of a MESSAGE."""
    echo(json.dumps(json_schema(message), indent=2, ensure_ascii=False))
