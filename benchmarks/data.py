"""What the benchmarks learn: real streams from a folder, and streams drawn from a seed.

The folder is named by BENCH_DATA, else it is ../shared/data next to the repository (see the README there).
Without the folder, what needs it is skipped.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from measures import Unavailable

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[2] / "shared" / "data")
_SMS = Path("sms", "SMSSpamCollection.tsv")

Example = tuple[dict[Any, float], bool]
Stream = list[Example]


def sms(data: Path = DATA) -> list[tuple[str, bool]]:
    """Read the SMS Spam Collection: texts, and whether they are spam."""
    if not (data / _SMS).exists():
        raise Unavailable(f"{data / _SMS} is missing; BENCH_DATA names the folder")
    lines = (data / _SMS).read_text(encoding="utf-8").splitlines()
    return [(text, label == "spam") for label, text in (line.split("\t", 1) for line in lines)]


def words(text: str) -> dict[str, float]:
    """Return the set of lower-cased words."""
    return dict.fromkeys(re.findall("[a-z0-9]+", text.lower()), 1.0)


def character_4grams(text: str) -> dict[str, float]:
    """Return the set of character 4-grams, of unit length; upper and lower case differ."""
    features = dict.fromkeys(text[at : at + 4] for at in range(len(text) - 3))
    return dict.fromkeys(features, max(len(features), 1) ** -0.5)


def a9a(data: Path = DATA) -> Stream:
    """Read the Adult data in file order."""
    rows = (line.split() for line in (data / "a9a" / "a9a").read_text().splitlines())
    return [
        ({index: float(value) for index, value in (pair.split(":") for pair in pairs)}, label == "+1")
        for label, *pairs in rows
    ]


def spambase(data: Path = DATA, seed: int = 0) -> Stream:
    """Read Spambase, which is sorted by class, shuffled."""
    rows = [line.split(",") for line in (data / "spambase" / "spambase.data").read_text().split()]
    random.Random(seed).shuffle(rows)
    return [({f"x{at}": float(value) for at, value in enumerate(row[:-1])}, row[-1] == "1") for row in rows]


def elec2(data: Path = DATA) -> Stream:
    """Read the price of electricity in order of time."""
    with (data / "elec2" / "elec.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    return [(dict(zip(header[:-1], map(float, row), strict=False)), row[-1] == "1") for row in rows]


def svmguide3(data: Path = DATA) -> Stream:
    """Read svmguide3, whose column 0 is the label and which is sorted by class."""
    from scipy.io import loadmat  # noqa: PLC0415 - slow, and only one figure needs it

    rows = loadmat(data / "svmguide3" / "svmguide3.mat")["data"]
    return [({at: float(value) for at, value in enumerate(row[1:])}, bool(row[0] > 0)) for row in rows]


def gaussian(features: int, events: int) -> Sequence[Example]:
    """Make Gaussian features with a linear truth and some noise."""
    rng = random.Random(features)
    truth = [rng.gauss(0, 1) for _ in range(features)]
    made = []
    for _ in range(events):
        values = [rng.gauss(0, 1) for _ in range(features)]
        score = sum(t * v for t, v in zip(truth, values, strict=True)) + rng.gauss(0, 1)
        made.append(({f"f{i}": value for i, value in enumerate(values)}, score > 0))
    return made


def text_events(count: int) -> Iterator[bytes]:
    """Yield texts, repeated as need be, as the JSON events of a stream, labels included."""
    bodies = [json.dumps({"text": text, "label": label})[1:].encode() for text, label in sms()]
    for n in range(count):
        yield b'{"id": "event-%d", %b' % (n, bodies[n % len(bodies)])


def events(count: int, features: int = 12) -> Iterator[bytes]:
    """Yield Gaussian examples as the JSON events of a stream, labels included; about 240 bytes each."""
    drawn = gaussian(features, min(count, 20_000))  # repeated if need be: only the ids must differ
    bodies = [
        json.dumps({"features": {name: round(value, 4) for name, value in x.items()}, "label": y})[1:]
        for x, y in drawn
    ]
    for n in range(count):
        yield f'{{"id": "event-{n}", {bodies[n % len(bodies)]}'.encode()


def with_late_labels(count: int, delay: int) -> Iterator[bytes]:
    """Yield `events` without their labels, and each label in a message of its own so many events later."""
    waiting: deque[bytes] = deque()
    for value in events(count):
        event = json.loads(value)
        label = {"id": event["id"], "label": event.pop("label")}
        yield json.dumps(event).encode()
        waiting.append(json.dumps(label).encode())
        if len(waiting) > delay:
            yield waiting.popleft()
    yield from waiting
