"""What many tests of the service need."""

import pytest

from service.stream.opening import open_transport


@pytest.fixture
def stream():
    transport = open_transport("memory://")
    yield transport
    transport.close()
