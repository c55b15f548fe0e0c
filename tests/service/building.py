"""Short ways to make what the tests of the service need."""

import itertools
import json
import time
from operator import attrgetter

from service.messages.labels import Vocabulary
from service.partition.examples import Example, LearnedExamples
from service.partition.factory import make_processor
from service.partition.output_writer import OutputWriter
from service.settings.load import Settings
from service.stream.batches import OutputBatch
from service.stream.protocol import Record

fields_of = attrgetter(
    *("id", "features", "text", "label", "truth", "is_label", "message_bytes"),
    *("timestamp_ms", "tenant", "windowed", "weight"),
)


def settings(**given):
    return Settings(**({"http": "", "create_topics": "all"} | given))


class SetClock:
    """A clock on which time passes only where somebody waits, or a test sets it."""

    def __init__(self):
        self.seconds = self.worked_seconds = 0.0

    def monotonic(self):
        return self.seconds

    def process_time(self):
        return self.worked_seconds

    def work(self, seconds):
        """Let time pass in which the process works."""
        self.seconds += seconds
        self.worked_seconds += seconds

    def time(self):
        return self.seconds

    def wait(self, event, seconds):
        self.seconds += 0 if event.is_set() else seconds


class AtOncePacking:
    """Packs a snapshot as soon as it is asked for: no thread decides when."""

    def __init__(self, pack):
        self.records = pack

    @staticmethod
    def is_free():
        return True

    def is_done(self):
        return True


def spread_snapshots(monkeypatch, packing=AtOncePacking):
    """Let snapshots of any size be written with the batches that follow, a small chunk with each."""
    monkeypatch.setattr("service.loop.snapshots.AT_ONCE_BYTES", 0)
    monkeypatch.setattr("service.loop.snapshots.COMMIT_BYTES", 1)
    monkeypatch.setattr("service.loop.snapshots.Packing", packing)
    monkeypatch.setattr("service.checkpoints.snapshot._CHUNK_BYTES", 200)


class Feed:
    """A processor and the log it reads: each call appends one record and processes it, a batch of its own."""

    def __init__(self, **given):
        self.steps = []
        self.processor = make_processor(settings(**given), self.steps.extend)
        self._offsets = itertools.count()

    def record(self, value, *, at_seconds=0.0, topic="events", key=None, headers=()):
        """Append a record without processing it."""
        if not isinstance(value, (bytes, type(None))):
            value = json.dumps(value).encode()
        return Record(topic, 0, next(self._offsets), int(at_seconds * 1000), key, value, headers)

    def __call__(self, value, processing_time_ms=None, **where):
        return tuple(self.processor.process_batch([self.record(value, **where)], processing_time_ms).outputs)

    def output_of(self, value, **where):
        """Return the one output's value, parsed."""
        (output,) = self(value, **where)
        return json.loads(output.value)

    @property
    def counters(self):
        return self.processor.counters

    @property
    def model(self):
        return self.processor.learner.model


def values_of(steps):
    """Return what labelled predictions say, to be compared."""
    return [
        (each.example.event_id, each.example.x, each.example.score, each.example.predicted, *each[1:])
        for each in steps
    ]


def learned(*predictions, has_log_odds=False):
    """Return labelled predictions as a batch has learned them: of each the class, truth and score."""
    found = LearnedExamples(has_log_odds=has_log_odds)
    for number, (predicted, truth, score) in enumerate(predictions):
        found.note(Example(f"e{number}", {"n": 1.0}, predicted, score, 0), truth, 0.0, 0)
    return found


def event(event_id, text="x", label=None, **features):
    message = {"id": event_id, "text": text, "features": features}
    return message if label is None else message | {"label": label}


def label(event_id, value):
    return {"id": event_id, "label": value}


def observing(metrics, observe):
    """Let `observe` see, too, what each model learns."""
    watch = metrics.watch

    def watch_too(*given):
        inner = watch(*given)
        return lambda learned: (inner(learned), observe(learned))

    metrics.watch = watch_too
    return metrics


class AtOnce:
    """In the place of `service.loop.restorer.Background`: the loop waits for what runs."""

    def run(self, what):
        what()

    def is_over(self):
        return False

    def close(self):
        pass


def change_writers(stream, monkeypatch, change):
    """Let `change` have each writer of the stream's members before the loop does."""
    join = stream.join

    def joined(*args):
        member = join(*args)
        make = member.writer

        def writer(*given):
            made = make(*given)
            change(made)
            return made

        member.writer = writer
        return member

    monkeypatch.setattr(stream, "join", joined)


def without_final_snapshot(monkeypatch):
    """Let services end as if killed: nothing is left behind on hand-over."""
    monkeypatch.setattr("service.loop.task.Task.hand_over", lambda task, *_: task.close())


def step_until(runner, claim, seconds=20.0):
    """Let a runner continue until a claim holds."""
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "this did not happen"
        runner.step()


def damaged(record):
    return record._replace(value=record.value[:-1] + b"\xff")


class Changed:
    """A stream of which the log of checkpoints is another one: some of its records are changed, or gone."""

    def __init__(self, stream, change):
        self._stream, self._change = stream, change

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def read(self, topic, *where):
        records = self._stream.read(topic, *where)
        return filter(None, map(self._change, records)) if topic == "checkpoints" else records


class RecordedWriter:
    """Writes predictions and outcomes one by one."""

    def __init__(self, classes=()):
        self.writer = OutputWriter(Vocabulary(classes), "predictions")

    def prediction(self, event_id, predicted, score, updates, truth, time_ms, log_odds=False, further=b""):
        self.writer.begin(outputs := OutputBatch(), has_log_odds=log_odds)
        example = Example(event_id, {}, predicted, score, time_ms)
        self.writer.write_prediction(example, updates, truth, further)
        (output,) = outputs
        return output

    def outcome(self, event_id, truth, predicted, delay_seconds, time_ms):
        self.writer.begin(outputs := OutputBatch(), has_log_odds=False)
        self.writer.write_outcome(Example(event_id, {}, predicted, 0.5, time_ms), truth, delay_seconds)
        (output,) = outputs
        return output
