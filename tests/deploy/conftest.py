"""The metrics that a real run of the service exports, to hold dashboard and alerts to."""

import json
import os
from collections import defaultdict

import pytest

from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.support.perceptron_process import PerceptronProcess

N_SEPARABLE = 200


@pytest.fixture(autouse=True)
def without_settings_of_the_tests(monkeypatch):
    """Hide `PERCEPTRON_TESTS` and the like, which the service would take for settings it does not know."""
    for name in [name for name in os.environ if name.startswith("PERCEPTRON_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Run `perceptron serve` over a stream with every kind of input; return each sample's label names."""
    labels = defaultdict(set)
    decisions = ("--decisions", json.dumps([{"name": "act", "threshold": 0.5}]))
    costs = ("--costs-false-positive", "1", "--costs-false-negative", "20")
    for options in ((), ("--model", "auto", *decisions, *costs, "--drift-reaction", "record")):
        for name, found in _labels_of(options, tmp_path_factory.mktemp("exported")).items():
            labels[name] |= found
    return dict(labels)


def _labels_of(options, folder):
    url = f"sqlite:///{folder}/stream.db"
    n_messages = _fill(url)
    settings = {"broker": url, "http": "127.0.0.1:0"}
    with PerceptronProcess("serve", *options, folder=folder, settings=settings) as serving:
        serving.eventually(lambda: serving.metric("perceptron_messages_consumed_total") == n_messages)
        serving.eventually(lambda: serving.metric("perceptron_checkpoint_size_bytes") > 0)
        labels = defaultdict(set)
        for name, found in serving.metrics():
            labels[name] |= dict(found).keys()
    return labels


def _fill(url):
    """Write what the service can learn without end, a label that comes late, and a bad message."""
    events = [
        {"id": str(number), "features": {"x": number % 2 - 0.5}, "label": bool(number % 2)}
        for number in range(N_SEPARABLE)
    ]
    messages = [json.dumps(event).encode() for event in events] + [b"not json", b'{"id":"late","text":"win"}']
    transport = open_transport(url)
    transport.ensure_topics({"events": 1, "labels": 1})
    transport.produce([Output("events", None, message) for message in messages])
    transport.produce([Output("labels", None, b'{"id":"late","label":true}')])
    transport.close()
    return len(messages) + 1
