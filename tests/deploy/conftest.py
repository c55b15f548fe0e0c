"""The metrics that a real run of the service exports, to hold dashboard and alerts to."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.stream.opening import open_transport
from service.stream.protocol import Output

N_SEPARABLE = 200
STARTS_WITHIN_SECONDS = 60


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
    command = [sys.executable, "-m", "service", "serve", "--broker", url, "--http", "127.0.0.1:0"]
    command += options
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as serving:
        try:
            return _scrape(_address(serving), n_messages)
        finally:
            serving.terminate()
            serving.communicate()


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


def _address(serving):
    for line in serving.stderr:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise AssertionError("serve ended before it told its address")


def _scrape(address, n_messages):
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while True:
        with urllib.request.urlopen(f"{address}/metrics") as response:
            families = list(text_string_to_metric_families(response.read().decode()))
        samples = [sample for family in families for sample in family.samples]
        consumed = sum(s.value for s in samples if s.name == "perceptron_messages_consumed_total")
        if consumed == n_messages and any(s.name == "perceptron_checkpoint_size_bytes" for s in samples):
            break
        assert time.monotonic() < deadline, f"{consumed} of {n_messages} messages were consumed"
        time.sleep(0.1)
    labels = defaultdict(set)
    for sample in samples:
        labels[sample.name] |= sample.labels.keys()
    return dict(labels)
