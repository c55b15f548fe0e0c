"""Mistakes of the two-class learners on real streams.

    python benchmarks/figures.py

One pass everywhere: predict, then learn. The best of River on the same streams: `auto.py mistakes`.
"""

from __future__ import annotations

from functools import partial
from statistics import fmean

import data
from baselines import Standardised, singles
from prequential import judged
from streams import STREAMS, Kind

from perceptron_core import AROW


def main() -> None:
    """Print every figure."""
    names = ("sms-words", "sms-characters", "a9a", "spambase", "elec2")
    streams = {name: STREAMS[name].orders(data.DATA) for name in names}
    scaled = {f"{name} standardised": streams[name] for name in ("spambase", "elec2")}
    learners = singles(Kind.BINARY) | {"AROW(r=0.1)": lambda: AROW(r=0.1)}
    print(f"\n{'':<32}" + "".join(f"{name:>24}" for name in streams | scaled))
    for name, make in learners.items():
        runs = [(make, orders) for orders in streams.values()]
        runs += [(partial(Standardised, make), orders) for orders in scaled.values()]
        means = (
            fmean(sum(judged(made(), order, has_probabilities=False).wrongs) for order in orders)
            for made, orders in runs
        )
        print(f"{name:<32}" + "".join(f"{mean:>24,.6g}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
