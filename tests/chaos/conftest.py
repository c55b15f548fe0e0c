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


@pytest.fixture
def force() -> Force:
    """Return the short form; with PERCEPTRON_CHAOS=long (`make chaos`) the long one."""
    return LONG if os.environ.get("PERCEPTRON_CHAOS") == "long" else SHORT


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
