"""What the documents show, happens: Python runs, sessions give the output shown, options exist."""

import doctest
import json
import re
import shlex

import pytest
from click.testing import CliRunner

from service.cli.app import cli
from tests.docs.documents import PAGES, ROOT, blocks, page_name
from tools.documentation.references import command_tree

COMMANDS = dict(command_tree())
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def pages_with(wanted):
    found = [page for page in PAGES if any(wanted(block) for block in blocks(page))]
    return pytest.mark.parametrize("page", found, ids=page_name)


def sessions(code):
    """Cut a console block into (command, output)."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command.partition(" # ")[0].strip(), output


def shown_commands():
    for page in PAGES:
        for block in blocks(page):
            if block.language == "console":
                for command, _ in sessions(block.code):
                    yield page_name(page), command


@pages_with(lambda block: block.language == "python" or block.mark == "run")
def test_code_of_a_page_runs_and_prints_the_shown_output(page, empty_folder):
    namespace = {}
    for block in blocks(page):
        if block.mark.startswith("file: "):
            (empty_folder / block.mark.removeprefix("file: ")).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.code, page_name(page), "exec"), namespace)
        elif block.mark == "run":
            for command, output in sessions(block.code):
                run_and_compare(command, output)


def run_and_compare(command, shown):
    program, *arguments = shlex.split(command)
    assert program == "perceptron"
    done = CliRunner().invoke(cli, arguments, prog_name="perceptron")
    assert done.exit_code == 0, done.output
    if shown:
        assert doctest.OutputChecker().check_output(shown, done.stdout, LIKE), done.stdout


def test_every_shown_command_is_valid(subtests, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_CHECKPOINT_KEY", "a secret")
    for page, command in shown_commands():
        with subtests.test(f"{page}: {command}"):
            check_command(command)


def check_command(command):
    for part in re.split(r" && | \| ", command):
        words = [word for word in shlex.split(part) if not re.fullmatch(r"[A-Z_]+=\S*", word)]
        if words[:1] == ["perceptron"] or "perceptron" in words[:6]:
            check_usage(words[words.index("perceptron") + 1 :])
        elif words[0] == "make":
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            assert words[1] in targets


def check_usage(arguments):
    """Let click parse a command line without running the command; it exits on what it does not know."""
    context, command = cli.make_context("perceptron", list(arguments[:1])), cli
    while hasattr(command, "resolve_command"):
        name, command, arguments = command.resolve_command(context, arguments)
        context = command.make_context(name, list(arguments), parent=context)
        arguments = [*context._protected_args, *context.args]


def test_unknown_option_in_a_command_is_detected():
    with pytest.raises(Exception, match="--brokr"):
        check_usage(["checkpoint", "show", "--brokr", "x"])


def test_every_json_block_is_json(subtests):
    for page in PAGES:
        with subtests.test(page_name(page)):
            for block in blocks(page):
                if block.language == "json":
                    for line in block.code.splitlines():
                        assert json.loads(line)
