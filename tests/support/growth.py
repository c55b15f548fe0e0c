"""How cost grows with size: twice as much input may take two and a half times the processor time."""

from time import process_time

MOST = 2.5
LEAST_SECONDS = 0.1
"""Below this, twice as much is not compared: fixed costs and chance decide."""
MOST_SECONDS = 1.0
"""Of processor time, for the larger input."""
_ATTEMPTS = 6


def seconds_of(run, argument):
    """Return the processor time of this process, all its threads, while it runs."""
    began = process_time()
    run(argument)
    return process_time() - began


def assert_grows_linearly(run, make, size):
    """Run what is made of a size and of twice that, and compare; the least of several attempts counts.

    Noise makes a run slower and never faster, so that a further attempt cannot hide a square.
    """
    once, twice = make(size), make(2 * size)
    first, second = float("inf"), float("inf")
    for _ in range(_ATTEMPTS):
        first, second = min(first, seconds_of(run, once)), min(second, seconds_of(run, twice))
        if second <= min(MOST_SECONDS, MOST * max(first, LEAST_SECONDS)):
            return
    raise AssertionError(f"{size}: {first:.3f} s, twice as much: {second:.3f} s")
