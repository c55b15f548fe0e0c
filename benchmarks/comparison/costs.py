"""Measure what `auto` costs: time, memory, bytes."""

from __future__ import annotations

import gc
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import figures

from perceptron_core import AutoClassifier, to_bytes

from .contestants import river
from .prequential import Condition, wrongs
from .report import note, progress, row, rule
from .streams import Stream

_GOALS = {"sms": 40_000, "elec2": 40_000, "spambase": 20_000}
"""Events a second."""
_TIMES_THE_FOREST = 300
_FOREST = "adaptive random forest"
_REPETITIONS = 3
_TEXTS, _TEXTS_QUICK = 100_000, 5_000


def speed(data: Path, streams: Sequence[Stream], patience_seconds: float) -> None:
    """Print events of `auto` and of River's adaptive random forest for each second of processor time.

    Both go over the same events: the stream, as far as the forest comes within `patience_seconds`; it becomes
    slower as its trees grow. Ours is the best of three runs; `learn_one` scores an event before it learns it.
    """
    titles = ("events", "auto, events/s", "at least", "forest, events/s", "times", "at least", "verdict")
    rule("Speed on one core, by processor time", titles, (8, 14, 10, 16, 8, 8, 12))
    for stream in streams:
        if stream.name not in _GOALS:
            continue
        progress(f"{stream.name}: speed")
        examples = stream.orders(data)[0]
        events, forest = _forest_rate(stream, examples, patience_seconds)
        mine = max(_learning_rate(AutoClassifier(), examples[:events]) for _ in range(_REPETITIONS))
        reached = mine >= _GOALS[stream.name] and mine >= _TIMES_THE_FOREST * forest
        row(
            stream.name,
            f"{events:,}",
            f"{mine:,.0f}",
            f"{_GOALS[stream.name]:,}",
            f"{forest:,.0f}",
            f"{mine / forest:,.0f}",
            f"{_TIMES_THE_FOREST}",
            "reached" if reached else "NOT REACHED",
        )


def _forest_rate(
    stream: Stream, examples: Sequence[tuple[Any, Any]], patience_seconds: float
) -> tuple[int, float]:
    """Return how many events the forest came to, and how many it predicts and learns a second."""
    forest = river(stream.kind)[_FOREST]()
    began = process_time()
    events = len(wrongs(forest, examples, Condition(), patience_seconds))
    return events, events / (process_time() - began)


def _learning_rate(model: AutoClassifier, examples: Sequence[tuple[Any, Any]]) -> float:
    began = process_time()
    for x, y in examples:
        model.learn_one(x, y)
    return len(examples) / (process_time() - began)


def memory(data: Path, *, quick: bool) -> None:
    """Print the memory of `auto`, each in a fresh process, and the bytes of a snapshot."""
    if not Path("/proc/self/statm").exists():
        note("memory: this system has no /proc/self/statm to read a process's memory from")
        return
    rule("Memory of auto, and its snapshot", ("events", "resident MB", "snapshot MB"))
    a9a = figures.a9a(data)
    texts = _TEXTS_QUICK if quick else _TEXTS
    for name, events, source in (
        ("a9a", len(a9a), _a9a),
        ("sms-like texts", texts, sms_like),
    ):
        progress(f"{name}: memory")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            resident, snapshot = process.submit(_footprint, source, data, events).result()
        row(name, f"{events:,}", f"{resident / 1e6:,.1f}", f"{snapshot / 1e6:,.2f}" if snapshot else "–")


def _footprint(
    source: Callable[[Path, int], Iterable[tuple[Any, Any]]], data: Path, events: int
) -> tuple[int, int]:
    """Learn a stream; return how the process grew, and the size of a snapshot: 0 if there is none."""
    examples = source(data, events)  # kept until the end: what it takes is no part of the model
    model = AutoClassifier()
    before = _resident_bytes()
    for x, y in examples:
        model.learn_one(x, y)
    grown = _resident_bytes() - before
    try:
        return grown, len(to_bytes(model))
    except TypeError:
        return grown, 0


def _resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _a9a(data: Path, _: int) -> Iterable[tuple[Any, Any]]:
    return figures.a9a(data)


def sms_like(data: Path, n: int) -> Iterator[tuple[dict[str, str], bool]]:
    """Yield texts whose words, lengths and classes are drawn as the SMS collection has them."""
    draw = random.Random(0)
    texts = figures.sms(data)
    lengths = {spam: [len(text.split()) for text, y in texts if y == spam] for spam in (False, True)}
    counts = {
        spam: Counter(w for text, y in texts if y == spam for w in text.split()) for spam in (False, True)
    }
    cumulated = {spam: list(accumulate(counts[spam].values())) for spam in counts}
    words = {spam: list(counts[spam]) for spam in counts}
    share = len(lengths[True]) / len(texts)
    for _ in range(n):
        spam = draw.random() < share
        drawn = draw.choices(words[spam], cum_weights=cumulated[spam], k=draw.choice(lengths[spam]))
        yield {"text": " ".join(drawn)}, spam
