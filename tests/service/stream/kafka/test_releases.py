"""A release of kafka-python that cannot be used is refused, by the name of what it lacks."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

import service.stream.kafka.kafka_python
from service.errors import ConfigurationError
from service.stream.kafka.kafka_python import private

MODULES = sorted(Path(service.stream.kafka.kafka_python.__file__).parent.glob("*.py"))
PUBLISHED_MODULES = {"kafka", "kafka.admin", "kafka.errors", "kafka.structs"}
ASSIGNOR = "kafka.coordinator.assignors.cooperative_sticky"
"""Not published, and the only one that shares a group with the other client's members."""


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
