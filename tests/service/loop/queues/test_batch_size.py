"""Processing a full batch takes as long as commits are apart, whatever the model."""

import pytest

from service.loop.batching import BatchSize
from tests.service.building import settings


def after(size, seconds_each, batches=20):
    """Process full batches; return how long the last one took."""
    seconds = 0.0
    for _ in range(batches):
        seconds = size.records * seconds_each
        size.observe(size.records, seconds)
    return seconds


@pytest.mark.parametrize("seconds_each", [1e-6, 1e-5, 1e-4, 5e-4])
def test_full_batches_take_a_commit_interval(seconds_each):
    size = BatchSize(settings(commit_interval_seconds=0.2))
    assert after(size, seconds_each) == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(("seconds_each", "records"), [(0.01, 10), (0.06, 1), (10, 1)])
def test_a_slow_model_gets_as_few_records_as_it_has_time_for_and_one_at_least(seconds_each, records):
    size = BatchSize(settings())
    after(size, seconds_each)
    assert size.records == records


@pytest.mark.parametrize(("interval_seconds", "expected_seconds"), [(0.001, 0.02), (3600, 1.0)])
def test_an_interval_of_moments_or_hours_is_none_for_a_batch(interval_seconds, expected_seconds):
    size = BatchSize(settings(commit_interval_seconds=interval_seconds))
    assert after(size, seconds_each=1e-5) == pytest.approx(expected_seconds, rel=0.05)


def test_a_batch_that_is_not_full_and_in_time_says_nothing():
    size = BatchSize(settings())
    before = size.records
    size.observe(3, 0.04)
    assert size.records == before


def test_one_batch_that_took_long_halves_the_next_at_most():
    size = BatchSize(settings())
    before = size.records
    size.observe(before, 1000.0)
    assert size.records == before // 2


def test_where_no_time_passes_full_batches_grow():
    size = BatchSize(settings())
    before = size.records
    size.observe(before, 0.0)
    assert size.records == 2 * before


@pytest.mark.parametrize("most", [1, 50, 3000])
def test_no_batch_is_larger_than_the_setting(most):
    size = BatchSize(settings(max_batch_records=most))
    after(size, seconds_each=1e-6)
    assert size.records == most


def test_of_many_partitions_a_hundred_records_each_may_wait():
    size = BatchSize(settings())
    assert (size.waiting(1), size.waiting(200)) == (100, 20_000)
    after(size, seconds_each=1e-5)
    assert size.waiting(1) == size.records


def test_of_many_partitions_no_more_than_the_setting_may_wait_each():
    assert BatchSize(settings(max_batch_records=5)).waiting(200) == 1000
