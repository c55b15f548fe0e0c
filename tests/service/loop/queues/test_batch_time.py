"""Batches follow each other in one commit interval, and in less where nothing is to be waited for."""

from math import inf

import pytest

from service.loop.batching import BatchTime


@pytest.fixture
def batches():
    made = BatchTime(0.5)
    made.batch_taken(10.0)
    return made


def test_a_batch_is_due_one_interval_after_the_one_before(batches):
    batches.wait(10.25, more_comes=False)
    assert batches.due == 10.5


def test_after_a_pause_a_batch_is_due_at_once(batches):
    batches.wait(20.0, more_comes=False)
    assert batches.due <= 20.0


def test_more_records_are_waited_for_until_one_interval_after_the_first(batches):
    batches.wait(20.0, more_comes=True)
    batches.wait(20.25, more_comes=True)
    assert batches.due == 20.5


def test_once_no_more_records_come_they_are_not_waited_for(batches):
    batches.wait(20.0, more_comes=True)
    batches.wait(20.25, more_comes=False)
    assert batches.due <= 20.25


def test_where_no_more_is_expected_the_last_records_are_taken_at_once(batches):
    batches.expects_no_more = True
    batches.wait(10.25, more_comes=True)
    assert batches.due == 10.75
    batches.wait(10.25, more_comes=False)
    assert batches.due == 10.25


def test_a_batch_is_taken_earlier_by_what_it_takes_to_commit(batches):
    for n in range(1, 100):
        batches.batch_taken(10.0 * n)
        batches.batch_committed(10.0 * n + 0.125)
    batches.wait(990.25, more_comes=False)
    assert batches.due == pytest.approx(990.375, abs=1e-3)


def test_slow_commits_leave_half_the_interval(batches):
    for n in range(1, 100):
        batches.batch_taken(10.0 * n)
        batches.batch_committed(10.0 * n + 4.0)
    batches.wait(990.0, more_comes=True)
    assert batches.due == 990.25


def test_while_nothing_waits_nothing_is_due(batches):
    batches.wait(20.0, more_comes=False)
    batches.forget()
    assert batches.due == inf
