"""What many tests of the service need."""

import pytest

from service import logs
from service.stream.opening import open_transport


@pytest.fixture
def stream():
    transport = open_transport("memory://")
    yield transport
    transport.close()


@pytest.fixture(autouse=True)
def _nothing_warned_of(monkeypatch):
    monkeypatch.setattr(logs, "_warned_of", set())
