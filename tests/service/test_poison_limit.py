import pytest

from service.dead_letters import dead_letter
from service.decode import Reason, Rejection
from service.errors import TooManyRejected
from service.poison import PoisonLimit
from service.transport.base import Record


def feed(limit, pattern):
    for offset, bad in enumerate(pattern):
        record = Record("events", 3, offset, 0, None, b"x")
        limit.observe(
            record, dead_letter(record, Rejection(Reason.INVALID_JSON, "no"), "dead") if bad else None
        )


def test_a_share_up_to_the_limit_is_borne():
    feed(PoisonLimit(0.5, 10), [True, False] * 100)


def test_one_more_than_the_limit_stops_and_shows_three_origins():
    with pytest.raises(TooManyRejected) as stopped:
        feed(PoisonLimit(0.5, 10), [True, False] * 100 + [True, True])
    assert str(stopped.value).count("events[3]@") == 3
    assert "events[3]@201: invalid_json: no" in str(stopped.value)
    assert "--max-rejected-ratio" in stopped.value.hint


def test_the_window_slides():
    feed(PoisonLimit(0.5, 10), ([True] * 5 + [False] * 5) * 50)


def test_a_few_bad_messages_at_the_start_are_no_alarm():
    feed(PoisonLimit(0.5, 10), [True] * 5)


def test_a_limit_of_one_never_stops():
    feed(PoisonLimit(1.0, 10), [True] * 1000)
