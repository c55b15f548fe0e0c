"""`completion` prints a script that its shell accepts."""

import shutil
import subprocess

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


def test_help_says_how_to_install_it(perceptron):
    text = perceptron("completion", "--help").stdout
    for shell in ("bash", "zsh", "fish"):
        assert f"perceptron completion {shell} >" in text
