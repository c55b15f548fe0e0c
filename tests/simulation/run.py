"""Run seeds, with a seeded defect if one is given, and report those that fail."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, contextmanager
from typing import NamedTuple
from unittest import mock

from tests.simulation.defects import defect_put_back
from tests.simulation.judge import judge
from tests.simulation.world import World

_CHUNK = 50
_TRACE_LINES = 80


class Outcome(NamedTuple):
    """What came of one seed."""

    seed: int
    failure: str
    """What did not hold; empty if all did."""
    counts: Counter
    digest: str = ""


@contextmanager
def _undisturbed():
    """Keep the service from logging what is done to it, and the garbage collector from running."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    gc.disable()
    gc.collect()
    gc.freeze()  # what was there before is not looked through again
    try:
        yield
    finally:
        logging.disable(before)
        gc.unfreeze()
        gc.enable()


def run_seed(seed, trace=None, *, with_digest=False):
    """Run one seed and judge it; whatever is raised is a failure."""
    world = World(seed, trace)
    failure = ""
    try:
        with ExitStack() as patches:
            for module, constants in world.patches.items():
                patches.enter_context(mock.patch.multiple(module, **constants))
            world.run()
            judge(world)
    except Exception as error:  # noqa: BLE001  an error of any kind is what is looked for
        failure = f"{type(error).__name__}: {error}"
    counts = world.counts + Counter(
        runs=1,
        records=len(world.messages),
        transactions=len(world.broker.transactions),
        rebalances=world.broker.rebalances,
        processes=sum(slot.n_lives for slot in world.slots),
        rejected=world.has_rejected,
        shared=world.is_shared,
    )
    return Outcome(seed, failure, counts, world.digest() if with_digest else "")


def run_chunk(seeds):
    """Run some seeds; the first that fails is the last that runs."""
    counts = Counter()
    with _undisturbed():
        for seed in seeds:
            outcome = run_seed(seed)
            counts += outcome.counts
            if outcome.failure:
                return counts, outcome
            if seed % _CHUNK == 0:
                gc.collect()
    return counts, None


def first_failure(seeds: Iterable[int], defect=""):
    """Return the outcome of the first seed that fails, or None."""
    with defect_put_back(defect):
        return run_chunk(seeds)[1]


def run_many(first, n_seeds, *, workers, defect="", report=lambda counts, seconds: None):
    """Run many seeds in several processes; return the counts and the first failure by number."""
    chunks = [range(at, min(at + _CHUNK, first + n_seeds)) for at in range(first, first + n_seeds, _CHUNK)]
    began, counts = time.monotonic(), Counter()
    with defect_put_back(defect), multiprocessing.get_context("fork").Pool(workers) as pool:
        for found, failure in pool.imap(run_chunk, chunks):
            counts += found
            report(counts, time.monotonic() - began)
            if failure:
                pool.terminate()
                return counts, failure
    return counts, None


def story(seed, defect=""):
    """Return what happens in a run, line by line, and how it ends."""
    trace = []
    with _undisturbed(), defect_put_back(defect):
        outcome = run_seed(seed, trace, with_digest=True)
    return trace, outcome


def explain(outcome, defect=""):
    """Return a failure with the last lines of its story and the command that repeats it."""
    trace, _ = story(outcome.seed, defect)
    left_out = len(trace) - _TRACE_LINES
    lines = [f"… {left_out} lines before", *trace[-_TRACE_LINES:]] if left_out > 0 else trace
    again = f"make simulate SEED={outcome.seed}" + (f" DEFECT={defect}" if defect else "")
    return "\n".join([*lines, "", f"seed {outcome.seed}: {outcome.failure}", f"again: {again}"])
