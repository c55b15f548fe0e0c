"""What kafka-python does not publish is named in one place; a release without it is refused, or slower."""

import ast
import tomllib
from pathlib import Path

import kafka
import pytest
from kafka.producer.sender import Sender

import service.transport.kafka.kafka_python
from service.errors import ConfigurationError
from service.transport.kafka.kafka_python.private import NEEDED, RELEASE, check, first_lack

try:
    from service.transport.kafka.kafka_python.accelerated import USED
except ImportError:  # not compiled
    USED = {}

MODULES = [
    path
    for path in sorted(Path(service.transport.kafka.kafka_python.__file__).parent.rglob("*.py"))
    if USED or path.parent.name != "accelerated"
]
DECLARED = {name for names in [*NEEDED.values(), *USED.values()] for name in names.split()}
DECLARED_MODULES = {owner.partition(":")[0] for owner in NEEDED | USED}
PUBLISHED_MODULES = {"kafka", "kafka.admin", "kafka.errors", "kafka.structs"}


def private_names(tree):
    """Return the attributes that begin with an underscore, and those that the module has or sets itself."""
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    own |= {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value)
    }
    own |= {
        node.target.id for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and is_name(node.target)
    }
    return {name for name in used if name.startswith("_") and not name.startswith("__")}, own


def is_name(node):
    return isinstance(node, ast.Name)


def is_self(node):
    return is_name(node) and node.id == "self"


def test_the_installed_release_has_every_name():
    assert first_lack(NEEDED | USED) is None


def test_no_module_uses_an_unpublished_name_that_is_not_declared():
    used, own = set(), set()
    for path in [*MODULES, *MODULES[0].parents[1].glob("*.py")]:
        names, defined = private_names(ast.parse(path.read_text()))
        own |= defined
        used |= names if path in MODULES else set()
    assert used - own - DECLARED == set()


def test_no_module_imports_from_an_unpublished_module_that_is_not_declared():
    imported = {
        node.module
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "kafka"
    }
    assert imported - PUBLISHED_MODULES <= DECLARED_MODULES


def test_a_release_that_lacks_what_a_commit_rests_on_is_refused(monkeypatch):
    monkeypatch.delattr(Sender, "force_close")
    with pytest.raises(ConfigurationError, match=r"Sender\.force_close is gone, .* commit") as caught:
        check()
    assert kafka.__version__ in str(caught.value)
    assert f"kafka-python[crc32c]=={RELEASE.tested}" in caught.value.hint


def test_a_release_older_than_the_lowest_declared_one_is_refused(monkeypatch):
    monkeypatch.setattr(kafka, "__version__", "3.0.11")
    with pytest.raises(ConfigurationError, match=f"3.0.11 cannot be used: it is older than {RELEASE.oldest}"):
        check()


def test_the_lowest_release_is_the_declared_one():
    project = tomllib.loads((Path(__file__).parents[5] / "pyproject.toml").read_text())["project"]
    (declared,) = [each for each in project["dependencies"] if each.startswith("kafka-python")]
    assert f">={RELEASE.oldest}" in declared
