"""Streams of real events, and what the bare perceptron makes of them: the reference for every other way.

Messages are made of data that comes with River, or that lies next to the checkout.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from river import datasets

from perceptron_core import Perceptron

DATA = Path(__file__).parents[3] / "shared" / "data"
"""Data for development: next to the checkout where there is any, never part of it."""


class Run(NamedTuple):
    """What a bare perceptron does on a stream."""

    model: Perceptron
    predictions: list[dict[str, Any]]
    """As they should stand on the predictions topic."""


def reference_file(name: str) -> Path:
    """Return a file of `DATA`; without it, skip the test."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no {path}: this data does not ship with the project")
    return path


@functools.cache
def phishing_events() -> Sequence[bytes]:
    """River's 1,250 web pages, phishing or not."""
    return messages((f"page-{n}", x, y) for n, (x, y) in enumerate(datasets.Phishing(), start=1))


def sms_events() -> Sequence[bytes]:
    """The SMS Spam Collection as binary bags of words."""
    lines = reference_file("sms/SMSSpamCollection.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t", 1) for line in lines)
    return messages(
        (f"sms-{n}", dict.fromkeys(re.findall("[a-z0-9]+", text.lower()), 1), label == "spam")
        for n, (label, text) in enumerate(rows, start=1)
    )


def messages(examples: Iterable[tuple[str, dict[str, float], bool]]) -> Sequence[bytes]:
    """Write examples as event messages."""
    return tuple(json.dumps({"id": i, "features": x, "label": y}).encode() for i, x, y in examples)


def without_time(prediction: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction or an outcome without what differs whenever the same events are produced."""
    return {name: value for name, value in prediction.items() if name != "event_time_ms"}


def run_bare(events: Iterable[bytes]) -> Run:
    """Predict and learn over labelled events with nothing around the model."""
    model, predictions = Perceptron(), []
    for message in map(json.loads, events):
        x, truth = message["features"], message["label"]
        predicted = model.predict_one(x)
        predictions.append(
            {
                "id": message["id"],
                "label": predicted,
                "score": model.score_one(x),
                "updates": model.n_updates,
                "truth": truth,
                "mistake": predicted != truth,
            }
        )
        model.learn_one(x, truth)
    return Run(model, predictions)
