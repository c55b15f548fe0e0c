"""What the documents name, exists: settings, metrics, options, topics of the alerts, tests, files."""

import functools
import json
import re
import tomllib

import pytest

from service.settings.fields import SECRETS, setting_values
from service.settings.load import ENVIRONMENT_PREFIX, Settings
from tools.documentation.build import ROOT, linked, site_path, written_pages
from tools.documentation.references import GUARANTEES, command_tree, exported_families

WRITTEN = [page for page in written_pages() if page.name != "benchmarks.md"]  # `make bench` writes it
BENCHMARKS = next(page for page in written_pages() if page.name == "benchmarks.md")
RECORDS = [page for page in WRITTEN if page.match("docs/project/records/[0-9]*.md")]
OTHER_PROGRAMS_OPTIONS = {
    *("--adaptive", "--audit", "--binary", "--daemon", "--invert_hash", "--l1", "--l2", "--loss_function"),
    *("--named_labels", "--ngram", "--oaa", "--passes", "--port", "--power_t", "--sgd"),
    *("--build", "--build-arg", "--index", "--profile", "--rm", "--scale", "--volumes"),
    *("--from-literal", "--now", "--replicas", "--reset-offsets"),
    *("--data-binary", "--help", "--ignore", "--strict"),
}
"""Of Vowpal Wabbit; Docker; kubectl, systemd and Kafka; curl; click, pytest and mypy."""
NO_SETTINGS = {
    *("PERCEPTRON_TEST_KAFKA", "PERCEPTRON_REQUIRE_KAFKA", "PERCEPTRON_CHAOS", "PERCEPTRON_SIMULATION_SEEDS"),
    *("PERCEPTRON_LABELS", "PERCEPTRON_SCORES"),
    *("PERCEPTRON_UNCOMPILED", "PERCEPTRON_REQUIRE_COMPILED"),
}
"""Read by the tests; of exported C; read by the build."""


@functools.cache
def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def unknown(pattern, known):
    """Return what the pattern finds in the pages and is not known, with its page."""
    named = {(str(page), name) for page in WRITTEN for name in re.findall(pattern, text_of(page))}
    return {(page, name) for page, name in named if name not in known}


def test_every_metric_named_is_exported():
    ends = ("", "_total", "_info", "_bucket", "_sum", "_count")
    exported = {f"{family.name}{end}" for family in exported_families() for end in ends}
    others = {"perceptron_core", "perceptron_train", "perceptron_test", "perceptron_criterion"}
    assert unknown(r"`(perceptron_[a-z_]+)(?:\{[^}]*\})?`", exported | others) == set()


def test_every_environment_variable_named_is_a_setting():
    known = {ENVIRONMENT_PREFIX + name.upper().replace(".", "__") for name in setting_values(Settings())}
    files = {ENVIRONMENT_PREFIX + name.upper().replace(".", "__") + "_FILE" for name in SECRETS}
    assert unknown(rf"\b{ENVIRONMENT_PREFIX}[A-Z_]+[A-Z]\b", known | files | NO_SETTINGS) == set()


def test_every_named_option_exists():
    parameters = [parameter for _, command in command_tree() for parameter in command.params]
    options = {option for each in parameters for option in each.opts + each.secondary_opts}
    assert unknown(r"(?<![\w-])--[a-z][\w-]+", options | OTHER_PROGRAMS_OPTIONS) == set()


def test_every_setting_of_the_tuning_table_has_its_default_there():
    table = re.findall(
        r"^\| `([\w.]+)` \| (\S+).*\|.*\|$",
        text_of(next(page for page in WRITTEN if page.name == "tuning.md")),
        re.MULTILINE,
    )
    values = setting_values(Settings())
    assert len(table) > 8
    for name, default in table:
        assert name in values
        if default == "auto":
            assert values[name] is None, name
        elif default not in {"empty", "none"}:
            assert json.loads(default) == values[name], name


def test_every_test_of_the_guarantees_exists():
    promises = tomllib.loads(GUARANTEES.read_text(encoding="utf-8"))
    guarantees = text_of(next(page for page in WRITTEN if page.name == "guarantees.md"))
    assert sorted(re.findall(r"^## (.*)$", guarantees, re.MULTILINE)) == sorted(promises)
    for name in (name for tried in promises.values() for name in tried.values()):
        file, _, test = name.partition("::")
        assert f"def {test}(" in (GUARANTEES.parent / file).read_text(encoding="utf-8"), name


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in WRITTEN:
        if page not in RECORDS:
            assert f": {site_path(page)}\n" in navigation, f"{page} is not in the navigation"


@pytest.mark.parametrize("page", RECORDS, ids=lambda page: page.stem)
def test_design_record_has_its_parts_within_150_words(page):
    words = [word for word in text_of(page).split() if re.search(r"\w", word)]
    assert len(words) <= 150
    parts = re.findall(r"^\*\*(\w+)\.\*\* ", text_of(page), re.MULTILINE)
    assert [*parts, "Measured"][:4] == ["Context", "Decision", "Consequences", "Measured"]


def test_every_folder_is_in_the_architecture():
    page = text_of(next(page for page in WRITTEN if page.name == "architecture.md"))
    folders = [
        path.parent.name
        for package in ("perceptron_core", "service")
        for path in (ROOT / package).glob("*/__init__.py")
    ]
    assert [folder for folder in folders if f"`{folder}/`" not in page] == []


def test_every_link_has_a_target_in_the_repository():
    targets = {(page, target) for page in WRITTEN for target in linked(page)}
    assert {(page, target) for page, target in targets if not (ROOT / target).exists()} == set()


def test_measured_figure_is_in_the_benchmarks_alone():
    measured = set(re.findall(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])", text_of(BENCHMARKS)))
    measured = {figure for figure in measured if not figure.endswith("000")}
    assert len(measured) > 50
    others = [page for page in WRITTEN if page not in RECORDS]
    assert [(str(page), each) for page in others for each in measured if each in text_of(page)] == []


def test_no_secret_setting_is_shown_with_an_option():
    for page in WRITTEN:
        for name in SECRETS:
            assert f"--{name.replace('_', '-').replace('.', '-')}" not in text_of(page)
