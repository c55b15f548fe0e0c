import pytest

from service.errors import TransportUnavailable
from service.loop.context import Availability, Context
from service.monitoring.health import Health, State
from tests.service.building import SetClock


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def health():
    return Health()


@pytest.fixture
def availability(health, clock):
    return Availability(Context(None, None, None, health, clock=clock))


def test_a_stream_is_silent_a_second_after_it_was_heard(availability, clock):
    clock.seconds = 0.75
    assert not availability.is_silent
    availability.heard()
    clock.seconds = 1.5
    assert not availability.is_silent
    clock.seconds = 1.75
    assert availability.is_silent


def test_a_stream_that_did_not_answer_is_silent_until_it_is_heard(availability, health):
    availability.unanswered(TransportUnavailable("gone"))
    assert availability.is_silent
    assert (health.state, health.reason) == (State.UNAVAILABLE, "gone")
    availability.heard()
    assert not availability.is_silent
