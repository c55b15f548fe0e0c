"""What an event costs on its way from bytes to bytes, stage by stage.

The events are JSON with 12 numeric features and the label; the last stages read the same in Avro:

    python benchmarks/event_path.py [EVENTS]

Prints microseconds of processor time per event and events per second, medians over rounds that run all
stages by turns; the ratio is to a bare loop of `json.loads` and `float` in the same round, which checks
nothing, learns nothing and writes nothing. The processor does all stages, joins labels and keeps count.
"""

from __future__ import annotations

import gc
import io
import json
import random
import statistics
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import process_time

from fastavro import parse_schema, schemaless_writer
from prometheus_client import CollectorRegistry

from service.batches import OutputBatch, RecordBatch
from service.formats.schema import Schema
from service.formats.topics import make_schemas
from service.messages.decoder import Incoming
from service.messages.encoder import Answers
from service.messages.features import FeatureExtractor, X
from service.messages.labels import Vocabulary
from service.messages.schema import read_input
from service.models.binary import BinaryLearner
from service.models.registry import make_learner
from service.monitoring.metrics import Metrics
from service.partition.factory import make_decoder, make_extractor, make_processor
from service.settings.load import Settings
from service.settings.mapping import EventSettings
from service.stream import Record

ROUNDS = 9
FEATURES = 12
BATCH_RECORDS = 1000
SETTINGS = Settings(http="")
AVRO_SETTINGS = Settings(http="", events=EventSettings(format="avro"))
AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "features", "type": {"type": "map", "values": "double"}},
        {"name": "label", "type": "boolean"},
    ],
}
SCHEMAS = {b"\x00\x00\x00\x00\x01": Schema("AVRO", (json.dumps(AVRO).encode(),))}


def events(count: int) -> Sequence[bytes]:
    """Make labelled events with Gaussian features, all digits written, and a linear truth with some noise."""
    rng = random.Random(1)
    truth = [rng.gauss(0, 1) for _ in range(FEATURES)]
    made = []
    for number in range(count):
        values = [rng.gauss(0, 1) for _ in range(FEATURES)]
        score = sum(t * v for t, v in zip(truth, values, strict=True)) + rng.gauss(0, 0.3)
        features = {f"f{n}": value for n, value in enumerate(values)}
        made.append(json.dumps({"id": f"e{number}", "features": features, "label": score > 0}).encode())
    return made


def in_avro(values: Sequence[bytes]) -> Sequence[bytes]:
    """Write events in Confluent's wire format."""
    schema, (prefix,) = parse_schema(AVRO), SCHEMAS
    made = []
    for value in values:
        data = io.BytesIO()
        schemaless_writer(data, schema, json.loads(value))
        made.append(prefix + data.getvalue())
    return made


def as_records(values: Sequence[bytes]) -> Sequence[Record]:
    """Return values as the records of a topic, as clients deliver them."""
    return RecordBatch([Record("events", 0, n, n, None, value) for n, value in enumerate(values)])


def stages(values: Sequence[bytes]) -> Mapping[str, Callable[[], object]]:
    """Return what is timed, by name; each goes over all events once."""
    decode, extractor = make_decoder(SETTINGS).decode, make_extractor(SETTINGS)
    assert isinstance(extractor, FeatureExtractor)
    extract = extractor.extract
    messages = [decode(value) for value in values]
    examples = [(extract(m.features, m.text), m.truth is True) for m in messages if m.truth is not None]
    avro_values = in_avro(values)
    records, avro_records = as_records(values), as_records(avro_values)
    decode_avro = make_decoder(AVRO_SETTINGS, make_schemas(AVRO_SETTINGS, SCHEMAS)).decode
    return {
        "bare json.loads + float": lambda: read_numbers(values),
        "validate only (Pydantic)": lambda: drain(map(read_input, values)),
        "decode": lambda: drain(map(decode, values)),
        "features": lambda: drain(extract(m.features, m.text) for m in messages),
        "predict + learn": lambda: learn(examples),
        "encode": lambda: encode(messages),
        "processor": lambda: process(records),
        "processor, reference": lambda: process(records, uses_fast_path=False),
        "processor, with metrics": lambda: process(records, Metrics(CollectorRegistry())),
        "decode, Avro": lambda: drain(map(decode_avro, avro_values, avro_records)),
        "processor, Avro": lambda: process_avro(avro_records),
    }


def read_numbers(values: Sequence[bytes]) -> None:
    """Read events with nothing but the standard library."""
    for value in values:
        for number in json.loads(value)["features"].values():
            float(number)


def learn(examples: Sequence[tuple[X, bool]]) -> None:
    """Predict and learn examples with a new learner."""
    learner = make_learner("perceptron", {})
    assert isinstance(learner, BinaryLearner)
    for x, truth in examples:
        learner.predict_learn(x, truth)


def encode(messages: Sequence[Incoming]) -> None:
    """Write a prediction for each message, in batches."""
    answers = Answers(Vocabulary(), "predictions")
    for start in range(0, len(messages), BATCH_RECORDS):
        outputs = OutputBatch()
        for n, m in enumerate(messages[start : start + BATCH_RECORDS]):
            answers.prediction(outputs, m.id, m.truth is True, n / 7, n, m.truth, n)


def process(
    records: Sequence[Record], metrics: Metrics | None = None, *, uses_fast_path: bool = True
) -> None:
    """Process records with a new processor, which metrics observe if they are given."""
    processor = make_processor(SETTINGS, uses_fast_path=uses_fast_path)
    if metrics:
        processor.observe = metrics.watch(0, processor.learner)
    for start in range(0, len(records), BATCH_RECORDS):
        processor.process_batch(records[start : start + BATCH_RECORDS])


def process_avro(records: Sequence[Record]) -> None:
    """Process records in Avro; before each batch, the schemas that it needs are looked for."""
    processor = make_processor(AVRO_SETTINGS)
    assert processor.schemas is not None
    processor.schemas.add(SCHEMAS)
    for start in range(0, len(records), BATCH_RECORDS):
        batch = records[start : start + BATCH_RECORDS]
        processor.schemas.missing(batch)
        processor.process_batch(batch)


def drain(made: Iterable[object]) -> None:
    """Make everything and keep nothing."""
    deque(made, maxlen=0)


def microseconds(run: Callable[[], object], count: int) -> float:
    """Time one run: processor time per event, so that other programs on the machine count little."""
    gc.collect()
    began = process_time()
    run()
    return (process_time() - began) / count * 1e6


def main() -> None:
    """Print the table."""
    values = events(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
    runs = stages(values)
    rounds = [{name: microseconds(run, len(values)) for name, run in runs.items()} for _ in range(ROUNDS)]
    bare = next(iter(runs))
    print(f"{'stage':<28}{'us/event':>10}{'events/s':>12}{'of bare':>10}   spread")
    for name in runs:
        ratios = sorted(each[bare] / each[name] for each in rounds)
        cost = statistics.median(each[name] for each in rounds)
        print(
            f"{name:<28}{cost:>10.2f}{1e6 / cost:>12,.0f}{statistics.median(ratios):>10.2f}"
            f"   {ratios[0]:.2f}-{ratios[-1]:.2f}"
        )


if __name__ == "__main__":
    main()
