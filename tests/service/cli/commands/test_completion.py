"""`completion` prints a script that its shell accepts."""

import shlex
import shutil
import subprocess
import sys

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_the_program_back(perceptron, shell):
    result = perceptron("completion", shell)
    assert result.exit_code == 0
    assert f"_PERCEPTRON_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_accepts_the_script(perceptron, shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    script = perceptron("completion", shell).stdout
    subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=30)


@pytest.fixture
def bash(perceptron, tmp_path):
    """Press Tab behind a line, in bash; return what is offered. `words` are the line's as bash parts it."""
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    program = tmp_path / "perceptron"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m service "$@"\n')
    program.chmod(0o755)
    (tmp_path / "completion").write_text(perceptron("completion", "bash").stdout)

    def press_tab(line, *words):
        quoted = " ".join(map(shlex.quote, words))
        code = (
            f'source ./completion; compopt() {{ echo "$@"; }}; COMP_LINE={shlex.quote(line)}; '
            f"COMP_WORDS=({quoted}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
            '_perceptron_completion ./perceptron; echo "${COMPREPLY[@]}"'
        )
        run = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        return run.stdout.split()

    return press_tab


def test_bash_completes_a_topic_behind_a_url(bash):
    line = "perceptron consume --broker sqlite:///x.db ev"
    assert bash(line, "perceptron", "consume", "--broker", "sqlite", ":", "///x.db", "ev") == ["events"]


def test_bash_completes_what_stands_behind_an_equals_sign(bash):
    assert bash("perceptron serve --model=aro", "perceptron", "serve", "--model", "=", "aro") == ["arow"]


def test_bash_completes_the_names_of_files(bash):
    assert bash("perceptron replay ", "perceptron", "replay", "") == ["-o", "default"]


def test_help_says_how_to_install_it(perceptron):
    text = perceptron("completion", "--help").stdout
    for shell in ("bash", "zsh", "fish"):
        assert f"perceptron completion {shell} >" in text
