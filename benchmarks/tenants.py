"""One model for a million tenants: what it takes, and what it is worth.

    python benchmarks/tenants.py [--tenants N] [--events N] [--bits N] [--seed N]

A stream of short texts: three of 20 words, and the class is the sign of the sum of what the words mean. For
every tenth tenant the words mean the opposite. First each tenant has one event; then tenants are drawn who
are as unequal as mailboxes are: that of rank n has a share of (n + 50)^-1.5. Compared on the same events,
each predicted before it is learned:

    one for all     features without tenants
    one each        a model for each tenant: only the tenant's features, hashed into the same space
    personalised    `events.tenant`: each feature once for all and once for the tenant (Weinberger et al.
                    2009)

All are `--model arow --hash-bits 22 --normalize l2`, as the service makes them.
"""

from __future__ import annotations

import argparse
import random
import time
from bisect import bisect
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from service.messages.features import FeatureExtractor, FeatureOptions, X
from service.models.registry import make_learner

_WORDS: Final = [f"w{n}" for n in range(20)]
_WORDS_OF_TEXT: Final = 3
_MEBIBYTE: Final = 1 << 20


class _Event(NamedTuple):
    tenant: str
    text: str
    label: bool


def main() -> None:
    """Print a line for each way, then the ratios."""
    given = _arguments()
    print(f"{given.events:,} events of {given.tenants:,} tenants, 2^{given.bits} weights, seed {given.seed}")
    extractor = FeatureExtractor(FeatureOptions(hash_bits=given.bits, normalize="l2"))
    for_all = [*extractor.extract(None, " ".join(_WORDS))]

    def personalised(event: _Event) -> X:
        return extractor.extract(None, event.text, event.tenant)

    def one_each(event: _Event) -> X:
        x = personalised(event)
        for index in for_all:
            x.pop(index, None)
        return x

    mistakes = _run("personalised", personalised, given)
    ways = {"one for all": lambda event: extractor.extract(None, event.text), "one each": one_each}
    for name, features in ways.items():
        ratio = mistakes / _run(name, features, given)
        print(f"  personalised makes {ratio:.3f} times the mistakes of {name}")


def _run(name: str, features: Callable[[_Event], X], given: argparse.Namespace) -> int:
    mistakes, began, memory = 0, time.perf_counter(), _resident_bytes()
    learner = make_learner("arow", {}, (), b"", given.bits)
    for event in _events(given):
        predicted, _, _ = learner.predict_learn(features(event), event.label)
        mistakes += predicted != event.label
    seconds, memory = time.perf_counter() - began, _resident_bytes() - memory
    print(
        f"{name:13}{mistakes:10,} mistakes ({mistakes / given.events:.4f}), "
        f"{memory / _MEBIBYTE:.0f} MiB of memory, {len(learner.dump()) / _MEBIBYTE:.0f} MiB of snapshot, "
        f"{1e6 * seconds / given.events:.0f} µs an event",
        flush=True,
    )
    return mistakes


def _events(given: argparse.Namespace) -> Iterator[_Event]:
    draw = random.Random(given.seed)
    meaning = {word: draw.gauss(0, 1) for word in _WORDS}
    shares = list(accumulate((rank + 50) ** -1.5 for rank in range(given.tenants)))
    for number in range(given.events):
        tenant = number if number < given.tenants else bisect(shares, draw.random() * shares[-1])
        words = draw.sample(_WORDS, _WORDS_OF_TEXT)
        is_contrary = tenant % 10 == 9
        label = (sum(meaning[word] for word in words) > 0) is not is_contrary
        yield _Event(str(tenant), " ".join(words), label)


def _resident_bytes() -> int:
    """Return the memory of this process, as Linux counts it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="One model for a million tenants.")
    parser.add_argument("--tenants", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--bits", type=int, default=22)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
