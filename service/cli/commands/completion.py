"""`perceptron completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, get_completion_class

from service.cli.output import echo

_INSTALL = {
    "bash": "perceptron completion bash > ~/.local/share/bash-completion/completions/perceptron",
    "zsh": 'perceptron completion zsh > "${fpath[1]}/_perceptron"',
    "fish": "perceptron completion fish > ~/.config/fish/completions/perceptron.fish",
}


class _Bash(BashComplete):
    """Asks about whole words: bash parts them at : and = too, so that a URL is three."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' line=$COMP_LINE words=() word response completion type value i

    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        line=${line#"${line%%%%[![:space:]]*}"}
        line=${line#"$word"}
    done

    i=$((${#words[@]} - 1))
    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$i %(complete_var)s=bash_complete $1)

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


@click.command(
    epilog="\b\nTo install it, once:\n" + "\n".join(f"  {install}" for install in _INSTALL.values()),
)
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL; a new shell then completes with the Tab key."""
    completion = _Bash if shell == "bash" else get_completion_class(shell)
    assert completion is not None
    echo(completion(ctx.find_root().command, {}, "perceptron", "_PERCEPTRON_COMPLETE").source())
