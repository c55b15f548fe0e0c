"""What the process that serves asks of Python's collector."""

import gc

import pytest

from service.workers.gc_tuning import collect_less_often


@pytest.fixture(autouse=True)
def _as_before():
    before = gc.get_threshold()
    gc.unfreeze()  # what tests/conftest.py has frozen; each test freezes it again
    yield
    gc.set_threshold(*before)


def test_a_batch_of_examples_causes_no_look_at_all_that_is_kept():
    collect_less_often()
    kept = [[n] for n in range(1000)]
    before = gc.get_stats()[0]["collections"]
    kept += [[n] for n in range(1000)]
    assert gc.get_stats()[0]["collections"] == before


def test_what_was_imported_is_never_looked_at_again():
    collect_less_often()
    assert gc.get_freeze_count() > 10_000
