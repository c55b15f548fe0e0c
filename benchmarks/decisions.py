"""Decisions of a model at `min_precision = 0.95`, next to the best threshold in hindsight.

    python benchmarks/decisions.py CONFIDENCE [MODEL]

The model is `auto` by default.

Each event is predicted, then labelled and learned. The share is the recall of the decision, divided by the
largest recall that any one threshold has at a precision of 0.95 over the whole stream. The interval of the
precision is that of Clopper and Pearson, 95 %, two-sided. A stream with a drift changes halfway.
"""

from __future__ import annotations

import json
import random
import sys
from math import exp  # noqa: TID251 - of a probability that is drawn from
from typing import Any

import data
from scipy.stats import beta

from service.partition.factory import make_processor
from service.settings.load import Settings
from service.stream.protocol import Record

PRECISION = 0.95

Events = list[tuple[dict[str, Any], bool]]


def numbers(stream: data.Stream) -> Events:
    """Make events of named numbers."""
    return [({"features": {str(name): value for name, value in x.items()}}, y) for x, y in stream]


def rarer(events: Events, ratio: float, first: int = 0) -> Events:
    """Drop positive events from the first on, so that this share of the rest is positive."""
    draw, n_positive = random.Random(3), sum(y for _, y in events)
    kept = ratio * (len(events) - n_positive) / (n_positive * (1 - ratio))
    return [each for n, each in enumerate(events) if n < first or not each[1] or draw.random() < kept]


def orders(count: int, bias: float, *, changes: bool = False) -> Events:
    """Draw orders, some of them fraud; with a change, it looks different in the second half."""
    draw, made = random.Random(5), []
    for n in range(count):
        amount, age, hour = (draw.gauss(0, 1) for _ in range(3))
        country = draw.choice("DFUN")
        features = {"amount": amount, "age": age, "hour": hour, "country": country}
        if changes and n >= count // 2:
            amount, hour, country = hour, amount, {"N": "D", "D": "N"}.get(country, country)
        score = 3 * amount - 3 * age + 2 * hour + 3 * (country == "N") - bias
        made.append(({"features": features}, draw.random() < 1 / (1 + exp(-3 * score))))
    return made


def streams() -> dict[str, Events]:
    """Return the events of each stream."""
    sms = [({"text": text}, spam) for text, spam in data.sms()]
    a9a, spambase = numbers(data.a9a()), numbers(data.spambase())
    return {
        "sms": sms,
        "a9a": a9a,
        "spambase": spambase,
        "elec2": numbers(data.elec2()),
        "sms, 8 % positive": rarer(sms, 0.08),
        "spambase, 8 %": rarer(spambase, 0.08),
        "orders, 8 %": orders(20_000, 7.5),
        "orders, 0.5 %": orders(40_000, 13.5),
        "a9a, from 24 % to 8 %": rarer(a9a, 0.08, len(a9a) // 2),
        "orders, whose fraud changes": orders(20_000, 7.5, changes=True),
    }


def decided(events: Events, confidence: float, model: str = "auto") -> list[tuple[float, bool, bool]]:
    """Return the score of each event, whether it is decided, and its label."""
    rule = {"name": "block", "min_precision": PRECISION, "confidence": confidence}
    processor = make_processor(Settings(http="", model=model, decisions=[rule]))
    messages = [json.dumps({"id": str(n), **x, "label": y}).encode() for n, (x, y) in enumerate(events)]
    records = [Record("events", 0, n, 1000 * n, None, message) for n, message in enumerate(messages)]
    outputs = [json.loads(each.value or b"") for each in processor.process_batch(records).outputs]
    return [(each["score"], each["decision"] is not None, each["truth"]) for each in outputs]


def row(name: str, rows: list[tuple[float, bool, bool]]) -> str:
    """Write a line of the table."""
    labels = [label for _, is_decided, label in rows if is_decided]
    n, right = len(labels), sum(labels)
    if not n:
        return f"| {name} | 0 | 0 | | |"
    found = best = 0
    for rank, (_, _, label) in enumerate(sorted(rows, reverse=True), start=1):
        found += label
        best = found if found >= PRECISION * rank else best
    low, high = beta.ppf(0.025, right, n - right + 1), beta.ppf(0.975, right + 1, n - right)
    return f"| {name} | {n:,} | {right / best:.2f} | {right / n:.3f} | {low:.3f} to {high:.3f} |"


if __name__ == "__main__":
    for name, events in streams().items():
        print(row(name, decided(events, float(sys.argv[1]), *sys.argv[2:])), flush=True)
