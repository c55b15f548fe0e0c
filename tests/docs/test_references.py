"""The references are complete: held to what the program itself tells."""

import functools
import re

import click
from click.testing import CliRunner

import perceptron_core
from perceptron_core.formats.model_bytes import learners
from service.cli.app import COMMANDS, cli
from service.messages.rejection import Reason
from service.messages.schema import KINDS
from service.settings.fields import Settings, setting_values
from tools.documentation.references import references


@functools.cache
def pages():
    return references()


def test_every_setting_has_a_section_with_its_description():
    sections = dict(re.findall(r"^## (\S+)\n\n(.+)\n", pages()["reference/settings.md"], re.MULTILINE))
    assert [name for name in setting_values(Settings()) if not sections.get(name, "").endswith(".")] == []


def test_reference_has_every_command_with_its_help():
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        for inner in ["", *getattr(command, "commands", {})]:
            full = f"{name} {inner}".strip()
            shown = re.search(
                rf"^## perceptron {full}\n\n```text\n(.*?)```",
                pages()["reference/commands.md"],
                re.MULTILINE | re.DOTALL,
            )
            assert shown, full
            has_all = "--help-all" in shown[1]
            arguments = [*full.split(), "--help-all" if has_all else "--help"]
            printed = CliRunner().invoke(cli, arguments, prog_name="perceptron", terminal_width=100).output
            assert shown[1] == printed


def test_reference_has_every_field_of_every_message():
    page = pages()["reference/messages.md"]
    for kind, message in KINDS.items():
        section = page.partition(f"## {kind}\n")[2].partition("\n## ")[0]
        assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == set(message.model_fields)


def test_reference_has_every_dead_letter_reason():
    listed = re.findall(r"^- `(\w+)`$", pages()["reference/messages.md"], re.MULTILINE)
    assert listed == [str(reason) for reason in Reason]


def test_every_public_name_of_the_library_is_documented_once():
    text = pages()["reference/learners.md"] + pages()["reference/functions.md"]
    documented = re.findall(r"^::: perceptron_core\.(\w+)$", text, re.MULTILINE)
    public = [name for name in perceptron_core.__all__ if not name.startswith("__")]
    assert sorted(documented) == sorted(public)


def test_reference_has_every_learner_with_the_effect_of_weights():
    for name, cls in learners().items():
        assert f"| `{name}` | `{cls.__name__}` | {cls.WEIGHT} |" in pages()["reference/learners.md"]
