import pytest

from tests.service.building import event
from tests.service.web.stage import Stage


@pytest.fixture
def stage():
    stage = Stage()
    stage(event("a", "win money", label=True), event("b", "see you", label=False))
    return stage


@pytest.fixture
def client(stage):
    with stage.served() as client:
        yield client
