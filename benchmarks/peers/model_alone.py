"""The model of the measure of workers and nothing else, for some seconds: what a core has for it.

    python model_alone.py FILE:FACTORY SECONDS

Prints how many events it has predicted and learned a second.
"""

from __future__ import annotations

import random
import runpy
import sys
from time import perf_counter

_FEATURES = 12
_EVENTS = 1000


def main() -> None:
    """Predict and learn until the time is over."""
    place, seconds = sys.argv[1], float(sys.argv[2])
    path, _, factory = place.rpartition(":")
    model, rng = runpy.run_path(path)[factory](), random.Random(1)
    events = [
        ({f"f{n}": rng.gauss(0, 1) for n in range(_FEATURES)}, rng.random() < 0.5) for _ in range(_EVENTS)
    ]
    began, done = perf_counter(), 0
    while (passed := perf_counter() - began) < seconds:
        for x, y in events:
            model.predict_proba_one(x)
            model.learn_one(x, y)
        done += _EVENTS
    print(done / passed)


if __name__ == "__main__":
    main()
