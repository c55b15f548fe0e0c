"""Draw the records that are sent to the service, each with its time and its meaning.

Events with labels of their own, labels early, late, missing, doubled and corrected, ids that come again,
and records that must become dead letters; on one topic or on two, at once or one after the other.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from service.stream.partitioner import partition_for_key
from tests.simulation.oracle import Message

NAMES = ("a", "b", "c", "d", "e", "free", "win")
COLOURS = ("red", "green")
SPELLINGS = ((False, True), (-1, 1), (0, 1))
TOO_LARGE = b'{"id":"x","text":"%s"}' % (b"y" * 400)

ODD_TIMES_MS = (-2_000_000_000_000, 2500, 10_000_000, 10**15)
"""Before 1970, a little ahead, and far ahead, even of a year that clients can write."""

POISON = (
    (b"junk", "invalid_json"),
    (b"", "empty"),
    (None, "empty"),
    (b"[1,2]", "not_an_object"),
    (b'{"id":"","text":"x"}', "invalid_id"),
    (b'{"id":"p","text":"x","colour":1}', "unknown_field"),
    (b'{"id":"p","features":{"a":1e400}}', "not_finite"),
    (b'{"id":"p","features":{"a":1e200}}', "out_of_range"),
    (b'{"id":"p","text":"x","label":"perhaps"}', "unknown_label"),
    (b'{"id":"p"}', "missing_field"),
    (b'{"id":"\xff","text":"x"}', "invalid_utf8"),
    (TOO_LARGE, "too_large"),
)


class Sent(NamedTuple):
    """A record to be appended to a topic at a time of the simulation."""

    at_seconds: float
    topic: str
    key: bytes | None
    value: bytes | None
    time_ms: int
    """Since the run began, on the producer's clock."""
    message: Message


class Workload:
    """Draws the records of one run.

    Parameters
    ----------
    random
        The only source of chance.
    classes
        Names of the classes; () for booleans.
    labels_topic
        Where labels go that are not sent with their event; "" for the events topic.
    is_mapped
        Whether settings say how events are read: none is a label then, and fields more are no error.

    """

    def __init__(self, random, classes, labels_topic, *, is_mapped):
        self._random = random
        self._classes = classes
        self._labels_topic = labels_topic
        self._spelling = random.choice(SPELLINGS) if not classes else None
        self._p_own_label = random.choice((0.0, 0.2, 0.8))
        self._p_label = random.choice((0.5, 0.9))
        self._p_poison = random.choice((0.0, 0.02, 0.2))
        self._p_misplaced = random.choice((0.0, 0.0 if is_mapped else 0.1))
        self._poison_there_is = [each for each in POISON if not (is_mapped and each[1] == "unknown_field")]
        self._delay_seconds = random.choice((0.05, 1.0, 10.0))
        self._jitter_ms = random.choice((0, 0, 500, 5000))
        self._granularity_ms = random.choice((1, 1, 100, 1000))
        """Of the producers' clocks: records of the same time are the harder to order."""
        self._p_odd_time = random.choice((0.0, 0.0, 0.05))
        self._names = NAMES[: random.randint(2, len(NAMES))]

    def records(self, n_events, duration_seconds):
        """Return the records in the order of their sending."""
        random = self._random
        sent = []
        for number in range(n_events):
            at = random.random() * duration_seconds
            event_id = f"e{number}" if random.random() < 0.95 else f"e{random.randrange(n_events)}"
            label = self._draw_label() if random.random() < self._p_own_label else None
            sent.append(self._event(at, event_id, label))
            if label is None and random.random() < self._p_label:
                sent += self._labels(at, event_id)
            if random.random() < self._p_poison:
                sent.append(self._poison(at))
            if random.random() < 0.05:
                sent.append(self._event(at + random.random(), event_id, self._draw_label()))
        sent.sort(key=lambda each: each.at_seconds)
        return sent

    def _event(self, at, event_id, label):
        random = self._random
        x, message = {}, {"id": event_id}
        if random.random() < 0.9:
            features = {}
            for name in self._names:
                if random.random() < 0.5:
                    features[name] = random.randint(-20, 20) / 10
                    x[name] = float(features[name])
            if random.random() < 0.3:
                features["colour"] = colour = random.choice(COLOURS)
                x[f"colour={colour}"] = 1.0
            if random.random() < 0.2:
                features["urgent"] = urgent = random.random() < 0.5
                x["urgent"] = float(urgent)
            message["features"] = features
        if not x or random.random() < 0.2:
            words = [random.choice(COLOURS) for _ in range(random.randint(0, 3))]
            message["text"] = " ".join(words).upper()
            x |= dict.fromkeys((f"text={word}" for word in words), 1.0)
        of_windows = {"key": message.get("features", {}).get("colour"), "number": x.get(NAMES[0])}
        if label is not None:
            message["label"] = label
        return self._sent(at, "events", event_id, message, Message("event", event_id, x, label, **of_windows))

    def _labels(self, at, event_id):
        """Draw the labels of an event: early or late, once or several times, the same or another."""
        random = self._random
        delay = random.expovariate(1 / self._delay_seconds) * (-0.2 if random.random() < 0.15 else 1)
        sent = [self._label(at + delay, event_id, self._draw_label())]
        while random.random() < 0.15:
            same = sent[-1].message.label if random.random() < 0.5 else self._draw_label()
            sent.append(self._label(sent[-1].at_seconds + random.random(), event_id, same))
        return sent

    def _label(self, at, event_id, label):
        topic = self._labels_topic or "events"
        if self._random.random() < self._p_misplaced:
            topic = "events"
        message = {"id": event_id, "label": label}
        return self._sent(max(0.0, at), topic, event_id, message, Message("label", event_id, {}, label))

    def _poison(self, at):
        random = self._random
        value, reason = random.choice(self._poison_there_is)
        topic = random.choice(("events", self._labels_topic or "events"))
        key = random.choice((None, b"p", b"q", b"r"))
        return Sent(at, topic, key, value, self._time(at), Message("bad", reason=reason))

    def _sent(self, at, topic, event_id, message, meaning):
        value = json.dumps(message, separators=(",", ":")).encode()
        return Sent(at, topic, event_id.encode(), value, self._time(at), meaning)

    def _time(self, at):
        if self._random.random() < self._p_odd_time:
            return self._random.choice(ODD_TIMES_MS)
        jitter = self._random.randint(-self._jitter_ms, self._jitter_ms) if self._jitter_ms else 0
        time = int(at * 1000) + jitter
        return time - time % self._granularity_ms

    def _draw_label(self):
        random = self._random
        if not self._classes:
            if random.random() < 0.02:
                self._spelling = random.choice(SPELLINGS)
            return random.choice(self._spelling)
        return random.choice(self._classes)


def place(sent, partitions):
    """Return the partition of a record, as its producer chooses it."""
    return partition_for_key(sent.key, partitions)
