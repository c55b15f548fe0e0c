"""The state of the loop, also of one that is stuck: probes show it, the log has it."""

from service.monitoring.health import Health, State
from tests.service.building import SetClock


def ready(seconds):
    clock = SetClock()
    health = Health(ready_timeout_seconds=seconds, clock=clock)
    health.become(State.READY)
    return health, clock


def test_batch_longer_than_the_limit_is_not_ready_with_reason():
    health, clock = ready(3)
    with health.doing("a batch of partition 2"):
        clock.seconds = 3.0
        assert health.state is State.READY
        clock.seconds = 4.0
        assert health.condition == (State.UNAVAILABLE, "a batch of partition 2 has been under way for 4 s")
        assert health.is_live
    assert health.condition == (State.READY, "")


def test_stated_reason_outlasts_a_long_action():
    health, clock = ready(3)
    health.become(State.UNAVAILABLE, "the stream is away")
    with health.doing("a poll"):
        clock.seconds = 9.0
        assert health.condition[1] == "the stream is away"


def test_stall_of_nested_steps_begins_with_the_innermost_step():
    health, clock = ready(3)
    with health.doing("a step"), health.waiting_for_stream():
        clock.seconds = 2.0
        with health.doing("a commit"), health.waiting_for_stream():
            clock.seconds = 4.0
            assert (health.stall, health.waiting_since) == (None, 2.0)
        assert health.condition[1] == "a step has been under way for 4 s"
        assert health.waiting_since == 0.0
    assert health.waiting_since is None


def test_long_action_is_logged_once(caplog):
    health, clock = ready(3)
    for seconds in (4.0, 9.0):
        with health.doing("a commit"):
            clock.seconds += seconds
            assert [health.state for _ in range(3)] == [State.UNAVAILABLE] * 3
    assert [record.getMessage() for record in caplog.records] == [
        f"not ready: a commit has been under way for {seconds} s" for seconds in (4, 9)
    ]
