"""What `perceptron_core` offers, and what it keeps away from."""

import ast
from pathlib import Path

import pytest

import perceptron_core

SOURCES = sorted(Path(perceptron_core.__file__).parent.rglob("*.py"))


def test_all_is_sorted_and_everything_in_it_exists():
    constants_first = sorted(
        perceptron_core.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert perceptron_core.__all__ == constants_first
    assert all(hasattr(perceptron_core, name) for name in perceptron_core.__all__)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_core_imports_no_io_no_clock_and_no_service(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.partition(".")[0])
    assert not imported & {
        "service",
        "kafka",
        "pydantic",
        "socket",
        "os",
        "io",
        "time",
        "datetime",
        "random",
        "pathlib",
    }
