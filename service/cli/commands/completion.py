"""`perceptron completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from service.cli.output import echo

_INSTALL = {
    "bash": "perceptron completion bash > ~/.local/share/bash-completion/completions/perceptron",
    "zsh": 'perceptron completion zsh > "${fpath[1]}/_perceptron"',
    "fish": "perceptron completion fish > ~/.config/fish/completions/perceptron.fish",
}


@click.command(
    epilog="\b\nTo install it, once:\n" + "\n".join(f"  {install}" for install in _INSTALL.values()),
)
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL; a new shell then completes with the Tab key."""
    completion = get_completion_class(shell)
    assert completion is not None
    echo(completion(ctx.find_root().command, {}, "perceptron", "_PERCEPTRON_COMPLETE").source())
