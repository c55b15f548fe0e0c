"""Streams to be attacked, on SQLite and on a real broker; and how hard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.presets import LONG, SHORT, Force
from tests.support.chaos_stream import ChaosStream, Service, services

pytest.register_assert_rewrite("tests.support.exactly_once")


@pytest.fixture
def force() -> Force:
    """Give the short form; with PERCEPTRON_CHAOS=long (`make chaos`) the long one."""
    return LONG if os.environ.get("PERCEPTRON_CHAOS") == "long" else SHORT


@pytest.fixture(params=["sqlite", pytest.param("kafka", marks=pytest.mark.kafka)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/stream.db"
    return f"kafka://{request.getfixturevalue('kafka_bootstrap')}"


@pytest.fixture
def open_chaos(url: str) -> Iterator[Callable[..., ChaosStream]]:
    """Open a stream at the `url`, with settings."""
    opened: list[ChaosStream] = []

    def make(**given: object) -> ChaosStream:
        opened.append(ChaosStream(url, **given))
        return opened[-1]

    yield make
    for stream in opened:
        stream.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start services; whatever is left of them is killed at the end."""
    with services(tmp_path) as starter:
        yield starter
