"""What is learned in the measures: the same numbers, words and texts at every run.

SMS texts are real where the collection is at hand: in the folder that BENCH_DATA names, else beside the
repository. Else texts are drawn with the word frequencies of Zipf's law and the lengths of SMS.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

Example = tuple[dict[str, float], bool]
Text = tuple[str, bool]

_DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[3] / "shared" / "data")
_SMS = _DATA / "sms" / "SMSSpamCollection.tsv"
_WORD = re.compile("[a-z0-9]+")
SPAM_RATIO = 0.134
"""Of the real collection."""


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


def sms_texts() -> Sequence[Text]:
    """Return messages and whether each is spam."""
    if not _SMS.exists():
        return zipf_texts()
    lines = _SMS.read_text(encoding="utf-8").splitlines()
    return [(text, label == "spam") for label, _, text in (line.partition("\t") for line in lines)]


def sms_source() -> str:
    """Say in words which texts `sms_texts` gives."""
    return "the SMS Spam Collection" if _SMS.exists() else "texts drawn by Zipf's law (no SMS here)"


def sms_words() -> Sequence[Example]:
    """Return the messages as binary bags of words."""
    return [(dict.fromkeys(_WORD.findall(text.lower()), 1.0), label) for text, label in sms_texts()]


def zipf_texts(events: int = 5574) -> Sequence[Text]:
    """Draw texts of made-up words: spam is longer, and most of it says `prize`."""
    rng = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    frequency = [1 / (rank + 1) for rank in range(len(letters))]
    vocabulary = ["".join(rng.choices(letters, frequency, k=rng.randint(1, 9))) for _ in range(9000)]
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    made = []
    for _ in range(events):
        label = rng.random() < SPAM_RATIO
        words = rng.choices(vocabulary, weights, k=rng.randint(15, 35) if label else rng.randint(3, 28))
        made.append((" ".join([*words, "prize"] if label and rng.random() < 0.8 else words), label))
    return made


def text_events(count: int) -> Iterator[bytes]:
    """Yield SMS texts, repeated as need be, as the JSON events of a stream, labels included."""
    bodies = [json.dumps({"text": text, "label": label})[1:].encode() for text, label in sms_texts()]
    for n in range(count):
        yield b'{"id": "event-%d", %b' % (n, bodies[n % len(bodies)])


def with_late_labels(count: int, delay: int) -> Iterator[bytes]:
    """Yield `events` without their labels, and each label in a message of its own so many events later."""
    waiting: deque[bytes] = deque()
    for value in drawn_events(count):
        event = json.loads(value)
        label = {"id": event["id"], "label": event.pop("label")}
        yield json.dumps(event).encode()
        waiting.append(json.dumps(label).encode())
        if len(waiting) > delay:
            yield waiting.popleft()
    yield from waiting


def events(count: int, features: int = 12) -> Sequence[bytes]:
    """Write Gaussian examples as the JSON events of a stream, labels included; about 240 bytes each."""
    return list(drawn_events(count, features))


def drawn_events(count: int, features: int = 12) -> Iterator[bytes]:
    """Yield the same as `events`, which need not be in memory together."""
    drawn = gaussian(features, min(count, 20_000))  # repeated if need be: only the ids must differ
    bodies = [
        json.dumps({"features": {name: round(value, 4) for name, value in x.items()}, "label": y})[1:]
        for x, y in drawn
    ]
    for n in range(count):
        yield f'{{"id": "event-{n}", {bodies[n % len(bodies)]}'.encode()
