"""What the packages import is declared: a release of another package must not take it away."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
OURS = {"perceptron_core", "service"}
NAMES = {"dotenv": "python-dotenv", "google": "protobuf", "kafka": "kafka-python", "sklearn": "scikit-learn"}
"""What is distributed under another name than it is imported by."""


def requirements():
    """List what it runs with and is built with."""
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    groups.append(PYPROJECT["build-system"]["requires"])
    return [requirement for group in groups for requirement in group]


def imported(package):
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module


@pytest.mark.parametrize("package", sorted(OURS))
def test_every_package_that_is_imported_is_declared(package):
    roots = {name.partition(".")[0] for name in imported(package)} - sys.stdlib_module_names - OURS
    declared = {re.match(r"[\w-]+", requirement)[0] for requirement in requirements()}
    assert {NAMES.get(root, root.replace("_", "-")) for root in roots} <= declared


def test_every_declared_package_has_its_reason_in_the_documentation():
    groups = [requirements(), *PYPROJECT["dependency-groups"].values()]
    declared = {re.match(r"[\w-]+", each)[0] for group in groups for each in group if isinstance(each, str)}
    page = (ROOT / "docs/project/dependencies.md").read_text(encoding="utf-8")
    rows = " ".join(re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE))
    assert declared - set(re.findall(r"[\w-]+", rows)) == set()


def test_every_declared_package_has_a_lowest_release():
    assert [each for each in requirements() if ">=" not in each] == []
