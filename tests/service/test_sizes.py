"""Records, settings and model files: twice as much of whatever comes costs about twice as much."""

import contextlib
import json

import pytest

from perceptron_core import (
    AutoClassifier,
    DamagedError,
    MulticlassPerceptron,
    Perceptron,
    from_bytes,
    to_bytes,
)
from service.messages.rejection import Rejection
from service.partition.factory import make_decoder
from tests.service.building import settings
from tests.support.growth import assert_grows_linearly

HALF = 450_000
"""Bytes."""
MAPPINGS = {
    "own": {},
    "all": {"features": "*", "unknown_fields": "ignore"},
    "refusing": {"features": "a", "id": "id"},
    "texts": {"text": ("texts",), "text_format": "html", "features": "a"},
    "an expression": {"features": "a", "text": ("join(' ', texts)",)},
    "derived": {"features": "*", "derive": (("low", "lower(word)"), ("is", "contains(word, 'z')"))},
    "vectors": {"vectors": ("list",), "features": "a"},
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
    "long names": lambda n: json.dumps(
        {"id": "a", "o": {"n" * (n // 2): {str(k): 1 for k in range(n // 20)}}}
    ),
}


@pytest.mark.parametrize("shape", RECORDS)
@pytest.mark.parametrize(
    "mapping",
    [each if each in {"own", "derived"} else pytest.param(each, marks=pytest.mark.slow) for each in MAPPINGS],
)
def test_a_record_costs_as_much_as_it_is_long(mapping, shape):
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
def test_a_model_file_costs_as_much_as_it_is_long(made):
    def read(data):
        with contextlib.suppress(DamagedError):
            from_bytes(data)

    assert_grows_linearly(read, made, HALF)


def test_settings_cost_as_much_as_they_are_long():
    def derive(size):
        return [(f"d{k}", " + ".join([f"f{k}"] * 50)) for k in range(size)]

    assert_grows_linearly(lambda given: make_decoder(settings(events={"derive": given})), derive, 128)
