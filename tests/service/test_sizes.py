"""Records, files, schemas, settings, models and snapshots: the cost is in proportion to the size.

At night (`PERCEPTRON_TESTS=all`) files, schemas and their values have a megabyte.
"""

import contextlib
import itertools
import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from pyarrow import ipc, parquet

from perceptron_core import (
    AutoClassifier,
    DamagedError,
    MulticlassPerceptron,
    Perceptron,
    from_bytes,
    to_bytes,
)
from service.checkpoints.log import read_log
from service.checkpoints.snapshot import Snapshot, from_chunks, to_chunks
from service.errors import ConfigurationError, ServiceError
from service.formats.schema import Schema, Schemas
from service.formats.topics import KINDS, WireReader
from service.messages.rejection import Rejection
from service.partition.factory import make_decoder
from service.settings.load import load_settings
from service.stream.protocol import Record
from tests.service.building import settings
from tests.service.files.opened import opened
from tests.service.mapping.test_texts import MAILS
from tests.support import growth
from tests.support.growth import assert_grows_linearly
from tests.support.speed import patience

HALF = 450_000
"""Bytes."""
FEWER = HALF if os.environ.get("PERCEPTRON_TESTS") == "all" else HALF // 4
SLOWER = {"no-end-of-a-quote.csv"}
"""A megabyte of these takes 1.4 seconds: each three bytes are a row."""
MAPPINGS = {
    "own": {},
    "all": {"features": "*", "unknown_fields": "ignore"},
    "rejecting": {"features": "a", "id": "id"},
    "texts": {"text": ("texts",), "text_format": "html", "features": "a"},
    "an expression": {"features": "a", "text": ("join(' ', texts)",)},
    "derived": {"features": "*", "derive": (("low", "lower(word)"), ("is", "contains(word, 'z')"))},
    "vectors": {"vectors": ("list",), "features": "a"},
    "notation": {"features": "*", "decimal": {"amount": ","}, "missing": (-9999,)},
}


def listed(piece, size):
    return ",".join([piece] * (size // (len(piece) + 1)))


RECORDS = {
    "numbers": lambda n: "{" + ",".join(f'"f{k}":1.5' for k in range(n // 12)) + "}",
    "one list": lambda n: f'{{"id":"a","list":[{listed("1.5", n)}]}}',
    "texts": lambda n: f'{{"id":"a","a":1,"texts":[{listed(chr(34) + "<p>win" + chr(34), n)}]}}',
    "tags": lambda n: f'{{"id":"a","a":1,"texts":["{"<" * n}"]}}',
    "a word": lambda n: f'{{"id":"a","word":"{"w" * n}"}}',
    "distinct words": lambda n: json.dumps({"id": "a", "t": [f"w{k}" for k in range(n // 10)]}),
    "deep": lambda n: '{"id":"a","d":' + '{"a":' * (n // 5) + "1" + "}" * (n // 5) + "}",
    "deep lists": lambda n: '{"id":"a","d":' + "[" * (n // 2) + "]" * (n // 2) + "}",
    "one name": lambda n: "{" + listed('"a":1', n) + "}",
    "digits": lambda n: f'{{"id":"a","a":{"9" * n}}}',
    "nested objects": lambda n: '{"id":"a","d":[' + listed('{"x":{"y":1}}', n) + "]}",
    "like numbers": lambda n: json.dumps({"id": "a", **{f"{k}": "1x" for k in range(n // 12)}}),
    **{
        f"long names of {value}": lambda n, value=value: json.dumps(
            {"id": "a", "o": {"n" * (n // 2): {str(k): value for k in range(n // 30)}}}
        )
        for value in (1, -9999, None)
    },
}


@pytest.mark.parametrize("shape", RECORDS)
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_record_takes_linear_time(mapping, shape):
    given = settings(events=MAPPINGS[mapping], max_message_bytes=1 << 20)

    def read(value):
        with contextlib.suppress(Rejection):
            make_decoder(given).decode(value)

    assert_grows_linearly(read, lambda size: RECORDS[shape](size).encode(), HALF)


def taught(model, n_classes, n_features):
    for number in range(n_classes):
        model.learn_one({f"f{number % 50}": 1.0}, f"class {number}" if n_classes > 2 else bool(number))
    for first in range(0, n_features, 1000):
        x = {f"f{k}": 1.0 for k in range(first, min(n_features, first + 1000))}
        model.learn_one(x, not model.predict_one(x))
    return to_bytes(model)


MODELS = {
    "features": lambda n: taught(Perceptron(), 2, n // 20),
    "classes": lambda n: taught(MulticlassPerceptron(), n // 200, 0),
    "classes that were named": lambda n: to_bytes(MulticlassPerceptron([f"c{k}" for k in range(n // 10)])),
    "classes of auto": lambda n: to_bytes(AutoClassifier([f"c{k}" for k in range(n // 1000)], hash_bits=4)),
    "zeros": lambda n: to_bytes(Perceptron()) + bytes(n),
}


@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
def test_model_file_takes_linear_time(made):
    def read(data):
        with contextlib.suppress(DamagedError):
            from_bytes(data)

    assert_grows_linearly(read, made, HALF)


def names(count):
    return [f"f{k}" for k in range(count)]


SETTINGS = {
    "derive": (
        128,
        lambda n: {"events": {"derive": {f"d{k}": " + ".join([f"f{k}"] * 50) for k in range(n)}}},
    ),
    "features": (5000, lambda n: {"events": {"features": names(n)}}),
    "classes": (10_000, lambda n: {"model": "auto", "classes": names(n)}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_take_linear_time(name):
    size, given = SETTINGS[name]
    assert_grows_linearly(lambda made: make_decoder(settings(**made)), given, size)


def test_more_than_256_derived_features_are_rejected():
    assert len(settings(events={"derive": dict.fromkeys(names(256), "a + 1")}).events.derive) == 256
    with pytest.raises(ConfigurationError, match=r"events\.derive .* at most 256"):
        load_settings({"events.derive": dict.fromkeys(names(257), "a + 1")})


def parquet_file(n_columns):
    file = pa.BufferOutputStream()
    parquet.write_table(pa.table({f"c{k}": [1.5] for k in range(n_columns)}), file)
    return file.getvalue().to_pybytes()


def arrow_file(columns, n_batches=1):
    file, table = pa.BufferOutputStream(), pa.table(columns)
    with ipc.new_file(file, table.schema) as writer:
        for _ in range(n_batches):
            writer.write_table(table)
    return file.getvalue().to_pybytes()


FILES = {
    "columns.csv": lambda n: ",".join(f"c{k}" for k in range(n // 7)).encode() + b"\n1\n2\n",
    "quotes.csv": lambda n: b'a,b\n1,"' + b'""' * (n // 2) + b'"\n',
    "no-end-of-a-quote.csv": lambda n: b'a,b\n1,"' + b"x,\n" * (n // 3),
    "empty-lines.ndjson": lambda n: b"\n" * n,
    "indices.libsvm": lambda n: b"1 " + b" ".join(b"%d:1" % k for k in range(n // 9)),
    "tabs.tsv": lambda n: b"ham" + b"\t" * n,
    "almost-mails.mbox": lambda n: b"From a\nSubject: b\n\n" + b"\nFrom \n" * (n // 7),
    "columns.parquet": lambda n: parquet_file(n // 800),
    "columns.feather": lambda n: arrow_file({f"c{k}": [1.5] for k in range(n // 300)}),
    "batches.arrow": lambda n: arrow_file({"a": [1]}, n // 200),
    "objects.feather": lambda n: arrow_file({"a": [[{"x": 1}] * (n // 8)]}),
} | {f"{name}.eml": make for name, make in MAILS.items()}


@pytest.mark.parametrize("name", FILES)
def test_long_file_takes_linear_time(tmp_path, name):
    def read(content):
        (tmp_path / name).write_bytes(content)
        with contextlib.suppress(ServiceError), opened(tmp_path / name) as source:
            for _ in source:
                pass

    assert_grows_linearly(read, FILES[name], HALF // 4 if name in SLOWER else FEWER)


def avro(n, kind):
    fields = [{"name": f"f{k}", "type": kind(k)} for k in range(n)]
    return json.dumps({"type": "record", "name": "Event", "fields": fields}).encode()


def linked_messages(n):
    file = FileDescriptorProto(name="a.proto", syntax="proto3")
    for k in range(n):
        field = file.message_type.add(name=f"M{k}").field.add(name="f", number=1, type=11, label=3)
        field.type_name = f".M{max(k - 1, 0)}"
    return file.SerializeToString()


KEY = b"\0\0\0\0\1"
SCHEMAS = {
    "avro: fields": lambda n: avro(n // 32, lambda _: "int"),
    "avro: records": lambda n: avro(n // 99, lambda k: {"type": "record", "name": f"r{k}", "fields": []}),
    "avro: one record": lambda n: avro(n // 32, lambda _: "Event"),
    "avro: lists": lambda n: b"[" * (n // 2) + b"]" * (n // 2),
    "protobuf: links": lambda n: linked_messages(n // 30),
    "json-schema: lists": lambda n: b"[" * (n // 2) + b"]" * (n // 2),
}


def read_with(schema, kind, value=b"{}"):
    known = Schemas({"events"})
    known.add({KEY: Schema(KINDS[kind], (schema,))})
    with contextlib.suppress(Rejection):
        WireReader(kind, known)(KEY + value)


@pytest.mark.parametrize("shape", SCHEMAS)
def test_schema_takes_linear_time(shape):
    kind, _, _ = shape.partition(":")
    assert_grows_linearly(lambda schema: read_with(schema, kind), SCHEMAS[shape], FEWER)


ITEM = {"type": "record", "name": "Item", "fields": [{"name": "x", "type": ["null", "double"]}]}
OBJECTS, NAMES, NULLS = (
    avro(1, lambda _, kind=kind: kind)
    for kind in (
        {"type": "array", "items": ITEM},
        {"type": "map", "values": "double"},
        {"type": "array", "items": "null"},
    )
)
VALUES = {
    "avro: objects": (OBJECTS, lambda n: b"\x02\x00" * (n // 2) + b"\x00"),
    "avro: names": (NAMES, lambda n: (b"\x02\x02k" + bytes(8)) * (n // 11) + b"\x00"),
    "avro: nulls": (NULLS, lambda n: b"\x02" * n + b"\x00"),
    "protobuf: messages": (linked_messages(1), lambda n: b"\x00" + b"\n\x00" * (n // 2)),
    "protobuf: unknown fields": (linked_messages(1), lambda n: b"\x00" + b"\x78\x01" * (n // 2)),
    "json-schema: numbers": (b"{}", lambda n: RECORDS["numbers"](n).encode()),
}


@pytest.mark.parametrize("shape", VALUES)
def test_value_with_a_schema_takes_linear_time(shape):
    schema, make = VALUES[shape]
    kind, _, _ = shape.partition(":")
    assert_grows_linearly(lambda value: read_with(schema, kind, value), make, FEWER)


def test_progress_and_snapshots_take_linear_time():
    def progress(size):
        return b'{"version":1%b}' % b"".join(b',"f%d":1' % k for k in range(size // 10))

    def read(value):
        with pytest.raises(ServiceError):
            read_log([Record("checkpoints", 0, 0, 0, b"g", value, (("kind", b"progress"),))], "g")

    def chunks(size):
        places = {(f"topic-{k}", k): k for k in range(size // 20)}
        return to_chunks(Snapshot(1, places, {}, {"parts": {str(k): () for k in range(size // 9)}}, {}))

    assert_grows_linearly(read, progress, HALF)
    assert_grows_linearly(from_chunks, chunks, HALF)


@pytest.mark.parametrize(("exponent", "is_rejected"), [(1.0, False), (1.25, False), (1.5, True), (2.0, True)])
def test_cost_above_proportion_is_rejected_despite_noise(monkeypatch, exponent, is_rejected):
    now, noise = [0.0], itertools.cycle((3.0, 1.0, 1.3, 2.0, 1.1))
    monkeypatch.setattr(growth, "process_time", lambda: now[0])

    def run(size):
        now[0] += 0.5 * (size / 200) ** exponent * next(noise)

    with pytest.raises(AssertionError, match="4 times as much") if is_rejected else contextlib.nullcontext():
        growth.assert_grows_linearly(run, lambda size: size, 100)


MAX_SECONDS, MAX_BYTES = 2.0, 400 << 20


def test_more_values_than_a_records_length_allows_are_rejected_early():
    command = [sys.executable, "-m", "tests.service.amplified"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=patience(60))
    result = json.loads(run.stdout)
    assert result["peak_bytes"] < MAX_BYTES
    assert all(seconds < MAX_SECONDS for seconds, _ in result["found"].values()), result
    limit = "more than 1048576 values in {} bytes"
    assert {name: said for name, (_, said) in result["found"].items()} == {
        "avro": limit.format(900_007),
        "protobuf 40": limit.format(1_000_000),
        "protobuf 1000": limit.format(1_000_000),
    }
