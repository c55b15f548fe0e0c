"""The releases of both clients: those that cannot be used are refused, by the name of what they lack."""

import ast
import tomllib
from pathlib import Path
from types import SimpleNamespace

import confluent_kafka
import kafka
import pytest

import service.stream.kafka.kafka_python
from service.errors import ConfigurationError
from service.stream.kafka.confluent import RELEASE as CONFLUENT
from service.stream.kafka.kafka_python import private
from service.stream.kafka.kafka_python.private import RELEASE as KAFKA_PYTHON

MODULES = sorted(Path(service.stream.kafka.kafka_python.__file__).parent.glob("*.py"))
PUBLISHED_MODULES = {"kafka", "kafka.admin", "kafka.errors", "kafka.structs"}
ASSIGNOR = "kafka.coordinator.assignors.cooperative_sticky"
"""Not published, and the only one that shares a group with the other client's members."""


@pytest.mark.parametrize(
    ("package", "release", "version", "refused"),
    [
        (kafka, KAFKA_PYTHON, "3.0.11", True),
        (kafka, KAFKA_PYTHON, "3.0.12", False),
        (kafka, KAFKA_PYTHON, "3.1.0.dev0", False),
        (confluent_kafka, CONFLUENT, "1.9.2", True),
        (confluent_kafka, CONFLUENT, "2.10.1", True),
        (confluent_kafka, CONFLUENT, "2.11.0", False),
        (confluent_kafka, CONFLUENT, "3.0.0rc1", False),
    ],
)
def test_a_release_is_refused_only_if_it_is_too_old(monkeypatch, package, release, version, refused):
    monkeypatch.setattr(package, "__version__", version)
    if not refused:
        release.check()
        return
    with pytest.raises(ConfigurationError, match=f"{version} cannot be used: it is older than") as caught:
        release.check()
    assert f"=={release.tested}'" in caught.value.hint


def test_the_lowest_releases_are_the_declared_ones():
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["confluent"]]
    for release in (KAFKA_PYTHON, CONFLUENT):
        (found,) = [each for each in declared if each.startswith(release.name)]
        assert f">={release.oldest}" in found


@pytest.mark.parametrize(
    ("need", "given", "lacks"),
    [
        (private.count_ended_connections, SimpleNamespace(), "_manager is gone"),
        (
            private.count_ended_connections,
            SimpleNamespace(_manager=SimpleNamespace()),
            "get_connection is gone",
        ),
        (private.producer_epoch, SimpleNamespace(_transaction_manager=None), "producer_id_and_epoch is gone"),
        (private.deliver_resumed, SimpleNamespace(), "_fetcher is gone"),
        (private.deliver_resumed, SimpleNamespace(_fetcher=object()), "_paused_partition_records is gone"),
    ],
)
def test_a_release_that_lacks_a_private_name_is_refused_by_that_name(need, given, lacks):
    with pytest.raises(ConfigurationError, match=rf"kafka-python .* cannot be used: .*{lacks}, by which"):
        need(given)


def test_only_one_module_uses_private_names_of_kafka_python():
    for path in MODULES:
        tree = ast.parse(path.read_text())
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
            and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cluster"})
            and not (isinstance(node.value, ast.Attribute) and node.value.attr == "_cluster")
        }
        assert not used or path.name == "private.py", path
        imported = {
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kafka"
        }
        assert imported <= PUBLISHED_MODULES | {ASSIGNOR}, path
