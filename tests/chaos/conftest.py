"""Streams to be attacked, on SQLite and on a real broker with each client; and how hard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.chaos.presets import LONG, SHORT, Force
from tests.support.chaos_stream import ChaosStream, Service, services
from tests.support.kafka_place import KAFKA_CLIENTS

pytest.register_assert_rewrite("tests.support.exactly_once")


IS_LONG = os.environ.get("PERCEPTRON_CHAOS") == "long"
# The short form makes these claims with the second client too; the long one, all. A killed broker is for the
# long one: librdkafka 2.16 was then seen to abort, once in some 20 times, with an assertion of its own.
SECOND_CLIENT = "confluent"
WITH_BOTH_CLIENTS = (
    "test_killed_at_random_moments_it_does_everything_once",
    "test_processes_come_go_freeze_and_thaw_and_everything_is_done_once",
    "test_connections_cut_in_the_middle_of_a_commit_lose_and_double_nothing",
    "test_a_stop_while_the_broker_is_gone_takes_seconds",
)


# A kill of one process and a hand-over of a shared model are each tried by a short test of their own.
LONG_ONLY = "test_three_processes_are_killed_in_turn"
LONG_ONLY_FILE = "test_three_brokers.py"
"""Three brokers take as much of the machine as everything else does."""

# Each kind of stream has one layout of the labels in the short form of the kill tests.
OTHER_LAYOUTS = (
    "[sqlite-labels-among-events]",
    "[kafka-python-labels-apart]",
    "[confluent-labels-among-events]",
    "[confluent-auto]",
    "[kafka-python-labels-timing-out]",
    "[confluent-labels-timing-out]",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the short form leaves out."""
    for item in items:
        if is_repetition(item):
            item.add_marker("repetition")


def is_repetition(item: pytest.Item) -> bool:
    if IS_LONG:
        return False
    if item.name.startswith(LONG_ONLY) or item.path.name == LONG_ONLY_FILE:
        return True
    spec = getattr(item, "callspec", None)
    is_second = spec is not None and spec.params.get("place") == SECOND_CLIENT
    return (is_second and not item.name.startswith(WITH_BOTH_CLIENTS)) or item.name.endswith(OTHER_LAYOUTS)


@pytest.fixture
def force() -> Force:
    """Return the short form; with PERCEPTRON_CHAOS=long (`make chaos`) the long one."""
    return LONG if IS_LONG else SHORT


@pytest.fixture(
    params=["sqlite", *(pytest.param(client, marks=pytest.mark.kafka) for client in KAFKA_CLIENTS)]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, object]:
    """Return the settings that say where the stream is; a test file may have others."""
    if request.param == "sqlite":
        return {"broker": f"sqlite:///{tmp_path}/stream.db"}
    bootstrap = request.getfixturevalue("kafka_bootstrap")
    return {"broker": f"kafka://{bootstrap}", "kafka_client": request.param}


@pytest.fixture
def open_chaos(place: Mapping[str, object]) -> Iterator[Callable[..., ChaosStream]]:
    """Open a stream at the `place`, with settings."""
    opened: list[ChaosStream] = []

    def make(**given: object) -> ChaosStream:
        opened.append(ChaosStream(**place, **given))
        return opened[-1]

    yield make
    for stream in opened:
        stream.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start services; whatever is left of them is killed at the end."""
    with services(tmp_path) as starter:
        yield starter
