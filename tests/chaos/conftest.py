"""Streams to be attacked, on SQLite and on a real broker with each client; and how hard."""

from __future__ import annotations

import os

import pytest

from tests.chaos.presets import LONG, SHORT
from tests.support.chaos_stream import ChaosStream, services
from tests.support.kafka_site import KAFKA_CLIENTS

pytest.register_assert_rewrite("tests.support.exactly_once")


@pytest.fixture
def force():
    """Return the short form; with PERCEPTRON_CHAOS=long (`make chaos`) the long one."""
    return LONG if os.environ.get("PERCEPTRON_CHAOS") == "long" else SHORT


@pytest.fixture(
    params=["sqlite", *(pytest.param(client, marks=pytest.mark.kafka) for client in KAFKA_CLIENTS)]
)
def place(request, tmp_path):
    """Return the settings that say where the stream is; a test file may have others."""
    if request.param == "sqlite":
        return {"broker": f"sqlite:///{tmp_path}/stream.db"}
    bootstrap = request.getfixturevalue("kafka_bootstrap")
    return {"broker": f"kafka://{bootstrap}", "kafka_client": request.param}


@pytest.fixture
def open_chaos(place):
    """Open a stream at the `place`, with settings."""
    opened = []

    def make(**given):
        opened.append(ChaosStream(**place, **given))
        return opened[-1]

    yield make
    for stream in opened:
        stream.close()


@pytest.fixture
def start(tmp_path):
    """Start services; whatever is left of them is killed at the end."""
    with services(tmp_path) as starter:
        yield starter
