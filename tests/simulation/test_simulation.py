"""Thousands of runs in which everything goes wrong that can, and nothing may come out wrong.

`PERCEPTRON_SIMULATION_SEEDS` says how many; `make simulate` is for more.
"""

import itertools
import os

import pytest

from tests.simulation.defects import DEFECTS
from tests.simulation.run import explain, first_failure, run_chunk, story
from tests.simulation.world import SHARED_EVERY

SEEDS = int(os.environ.get("PERCEPTRON_SIMULATION_SEEDS", "200"))

FOUND_WITHIN = 800
"""Seeds."""
FOUND_AT = {
    "state-is-read-before-the-former-owner-has-ended": 110,
    "an-empty-checkpoint-log-starts-from-zero": 52,
    "input-that-is-gone-is-passed-over": 156,
    "recovery-bounds-event-times-by-its-own-clock": 104,
    "what-has-waited-is-not-restored": 102,
    "events-that-come-late-do-not-wait-for-those-before": 27,
    "steps-are-not-restored": 26,
    "a-chain-with-a-hole-is-restored-as-if-whole": 153,
    "increments-count-among-the-snapshots-that-are-kept": 6,
    "windows-begin-anew-in-a-restored-partition": 59,
    "offsets-are-handed-over-without-a-generation": 100,
    "what-an-open-transaction-hides-is-not-missed": 110,
}
"""Where those are that more than twenty seeds would be tried for."""


@pytest.fixture(scope="module")
def runs():
    return run_chunk(range(SEEDS))


def test_records_are_processed_once_and_models_identical_under_any_faults(runs):
    counts, failure = runs
    assert failure is None, explain(failure)
    assert counts["runs"] == SEEDS


@pytest.mark.parametrize(
    "seed", [407, 781, 825, 4369, 5828, 7020, 7566, 9429, 9734, 24765, 26588, 53930, 60564, 61329, 5007534]
)
def test_verify_proves_a_formerly_refuted_run(seed):
    assert first_failure([seed]) is None


def test_seeds_cover_every_fault(runs):
    counts, _ = runs
    often = ("crashes", "rebalances", "freezes", "fences", "stops", "outages", "kicks", "shuffles")
    assert min(counts[name] for name in often) > SEEDS / 20, counts
    endings = ("lost", "away", "undecided", "crash", "failed", "full")
    assert min(counts[f"commit {name}"] for name in endings) > SEEDS / 70, counts
    assert counts["shared"] == SEEDS // SHARED_EVERY


@pytest.mark.parametrize("seed", range(0, 100, 14))
def test_seed_repeats_to_the_byte(seed):
    (one, outcome), (other, repeated) = story(seed), story(seed)
    assert one == other
    assert outcome.digest == repeated.digest


@pytest.mark.parametrize("name", DEFECTS)
def test_reintroduced_defect_is_found(name):
    seeds = itertools.chain([FOUND_AT[name]] if name in FOUND_AT else [], range(FOUND_WITHIN))
    failure = first_failure(seeds, name)
    assert failure is not None
    assert not failure.failure.startswith(("AttributeError", "NameError", "TypeError")), "it does not run"
    assert first_failure([failure.seed]) is None, "it is the defect that fails, not the seed"


def test_failure_is_reported_with_its_steps_and_command():
    failure = first_failure(range(FOUND_WITHIN), "recovery-forgets-the-last-batch")
    told = explain(failure, "recovery-forgets-the-last-batch")
    assert "restored" in told
    assert f"make simulate SEED={failure.seed} DEFECT=recovery-forgets-the-last-batch" in told
