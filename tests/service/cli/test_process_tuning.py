"""What the process that serves asks of Python's collector."""

import gc
import sys

import pytest

from service.cli.commands.serve import tune_process


@pytest.fixture
def _process_restored():
    before, turn = gc.get_threshold(), sys.getswitchinterval()
    gc.unfreeze()  # what tests/conftest.py has frozen; the test freezes it again
    yield
    gc.set_threshold(*before)
    sys.setswitchinterval(turn)


@pytest.mark.usefixtures("_process_restored")
def test_batch_of_examples_triggers_no_garbage_collection_of_old_objects():
    tune_process()
    assert gc.get_freeze_count() > 10_000
    kept = [[n] for n in range(1000)]
    before = gc.get_stats()[0]["collections"]
    kept += [[n] for n in range(1000)]
    assert gc.get_stats()[0]["collections"] == before
