"""How cost grows with size: four times as much input may take 2.5² times the processor time.

A cost in proportion takes four times, n log n a little more, a square sixteen times: a run that is slower by
half, or twice as fast, changes no verdict.
"""

import gc
from time import process_time

TIMES = 4
MOST = 2.5**2
LEAST_SECONDS = 0.04
"""Below this, times are not compared: fixed costs and chance decide."""
MAX_SECONDS = 1.0
"""Of processor time, for the larger input."""
_ATTEMPTS = 10


def seconds_of(run, argument):
    """Return the processor time of this process, all its threads, while it runs.

    Without the garbage collector: how often it goes through all objects depends on what other tests have left
    alive, and it is what made twice as much cost almost three times as much.
    """
    gc.disable()
    try:
        began = process_time()
        run(argument)
        return process_time() - began
    finally:
        gc.enable()


def assert_grows_linearly(run, make, size):
    """Run what is made of half a size and of twice the size, and compare; the least of attempts counts.

    Noise makes a run slower and never faster, so that a further attempt cannot hide a square; the smaller,
    whose noise could, runs twice as often.
    """
    smaller, larger = make(2 * size // TIMES), make(2 * size)
    first, second = float("inf"), float("inf")
    for _ in range(_ATTEMPTS):
        first = min(first, seconds_of(run, smaller), seconds_of(run, smaller))
        second = min(second, seconds_of(run, larger))
        if second <= min(MAX_SECONDS, MOST * max(first, LEAST_SECONDS)):
            return
    raise AssertionError(f"{size // 2}: {first:.3f} s, {TIMES} times as much: {second:.3f} s")
