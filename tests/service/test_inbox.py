"""Topics that are read together are taken in step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.inbox import Inbox, in_step
from service.transport.base import Record

EVENTS, LABELS = "events", "labels"
MANY = 10_000
NOTHING_MORE = {(EVENTS, 0): 0, (LABELS, 0): 0}


def records(topic, *times):
    return [Record(topic, 0, offset, time, None, b"") for offset, time in enumerate(times)]


def inbox(*polled, **lag_at_start):
    made = Inbox((EVENTS, LABELS))
    made.open(0, {EVENTS: 0, LABELS: 0} | lag_at_start)
    for each in polled:
        made.add(0, each)
    return made


def taken(made, *, lag, limit=MANY, now=0.0):
    return [(each.topic, each.timestamp_ms) for each in made.take(limit, lag, now).get(0, ())]


times = st.lists(st.integers(0, 20), max_size=30)


@given(times, times)
def test_topics_in_step_keep_each_their_own_order(one, other):
    merged = list(in_step([records(EVENTS, *one), records(LABELS, *other)]))
    for topic, expected in ((EVENTS, one), (LABELS, other)):
        assert [each.timestamp_ms for each in merged if each.topic == topic] == expected


@given(times.map(sorted), times.map(sorted))
def test_topics_whose_times_grow_come_in_order_of_time_and_events_before_labels(one, other):
    merged = list(in_step([records(EVENTS, *one), records(LABELS, *other)]))
    assert [(each.timestamp_ms, each.topic) for each in merged] == sorted(
        [(time, EVENTS) for time in one] + [(time, LABELS) for time in other]
    )


@given(times, times, st.integers(0, 60))
def test_a_batch_taken_apart_and_merged_again_is_itself(one, other, n):
    batch = list(in_step([records(EVENTS, *one), records(LABELS, *other)]))[:n]
    again = in_step([[r for r in batch if r.topic == topic] for topic in (EVENTS, LABELS)])
    assert list(again) == batch


@given(times.map(sorted), times.map(sorted), st.integers(1, 40), st.data())
def test_however_a_backlog_is_polled_and_cut_it_is_taken_in_order_of_time(one, other, limit, data):
    coming = {EVENTS: records(EVENTS, *one), LABELS: records(LABELS, *other)}
    expected, made, found = list(in_step(coming.values())), inbox(), []
    while any(coming.values()) or made:
        topic = data.draw(st.sampled_from([topic for topic in coming if coming[topic]] or [EVENTS]))
        n = data.draw(st.integers(1, 10))
        polled, coming[topic] = coming[topic][:n], coming[topic][n:]
        made.add(0, polled)
        found += made.take(limit, {(topic, 0): len(rest) for topic, rest in coming.items()}, 0.0).get(0, [])
    assert found == expected


def test_a_record_waits_for_a_topic_that_holds_more():
    made = inbox(records(EVENTS, 1, 2))
    assert taken(made, lag=NOTHING_MORE | {(LABELS, 0): 7}) == []
    made.add(0, records(LABELS, 1))
    assert taken(made, lag=NOTHING_MORE) == [(EVENTS, 1), (LABELS, 1), (EVENTS, 2)]


@pytest.mark.parametrize(("at_start", "expected"), [(3, []), (0, [(EVENTS, 1)])])
def test_of_a_topic_of_which_nothing_was_heard_holds_what_was_there_at_the_start(at_start, expected):
    assert taken(inbox(records(EVENTS, 1), labels=at_start), lag={(EVENTS, 0): 0}) == expected


def test_what_is_later_than_the_last_of_a_topic_that_holds_more_stays():
    made = inbox(records(EVENTS, 1, 5), records(LABELS, 3))
    assert taken(made, lag=NOTHING_MORE | {(LABELS, 0): 1}) == [(EVENTS, 1), (LABELS, 3)]
    assert made.counts() == {(EVENTS, 0): 1, (LABELS, 0): 0}


def test_nothing_waits_for_a_topic_that_holds_no_more():
    assert taken(inbox(records(EVENTS, 1, 2)), lag=NOTHING_MORE) == [(EVENTS, 1), (EVENTS, 2)]


def test_one_topic_alone_never_waits():
    made = Inbox((EVENTS,))
    made.open(0, {EVENTS: 2})
    made.add(0, records(EVENTS, 5, 1))
    assert taken(made, lag={(EVENTS, 0): 9}) == [(EVENTS, 5), (EVENTS, 1)]


@pytest.mark.parametrize(("seconds", "expected"), [(4.9, []), (5.0, [(EVENTS, 1)])])
def test_patience_with_a_topic_from_which_nothing_comes_has_an_end(seconds, expected):
    made, lag = inbox(records(EVENTS, 1)), NOTHING_MORE | {(LABELS, 0): 1}
    assert taken(made, lag=lag, now=10.0) == []
    assert taken(made, lag=lag, now=10.0 + seconds) == expected


def test_who_was_out_of_patience_stays_so_until_topics_are_in_step_again():
    made, lag = inbox(records(EVENTS, 1, 2)), NOTHING_MORE | {(LABELS, 0): 1}
    taken(made, lag=lag, now=0.0)
    assert taken(made, lag=lag, limit=1, now=5.0) == [(EVENTS, 1)]
    assert taken(made, lag=lag, limit=1, now=5.1) == [(EVENTS, 2)]
    made.add(0, records(EVENTS, 3))
    assert taken(made, lag=lag, limit=1, now=5.2) == [(EVENTS, 3)]


def test_no_more_wait_than_there_is_room_for():
    made, lag = inbox(records(EVENTS, *range(20_000))), NOTHING_MORE | {(LABELS, 0): 1}
    assert len(taken(made, lag=lag, limit=1000)) == 1000
    assert taken(made, lag=lag, limit=1000) == []


def test_a_partition_that_waits_holds_no_other_up():
    made = inbox(records(EVENTS, 1))
    made.open(1, {EVENTS: 0, LABELS: 0})
    made.add(1, [Record(EVENTS, 1, 0, 9, None, b"")])
    lag = {(EVENTS, 0): 0, (LABELS, 0): 1, (EVENTS, 1): 0, (LABELS, 1): 0}
    assert list(made.take(MANY, lag, 0.0)) == [1]


def test_what_is_forgotten_is_not_given_and_takes_nothing_more():
    made = inbox(records(EVENTS, 1))
    made.forget(0)
    made.add(0, records(EVENTS, 1))
    assert (len(made), taken(made, lag=NOTHING_MORE)) == (0, [])
