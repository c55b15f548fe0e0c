"""`perceptron relay` posts what is committed."""

import json
from functools import partial

import pytest

from tests.support.webhook_server import WebhookServer


@pytest.fixture
def relay(perceptron, broker):
    return partial(perceptron, "relay", "--broker", broker)


@pytest.fixture
def process(perceptron, broker):
    """Process texts, of which the first two are of the positive class."""

    def run(*texts):
        events = [{"id": f"{text}-{n}", "text": text, "label": n < 2} for n, text in enumerate(texts)]
        perceptron("produce", "-", "--broker", broker, stdin="\n".join(map(json.dumps, events)))
        assert perceptron("serve", "--broker", broker, "--http", "", "--exit-at-end").exit_code == 0

    return run


def test_new_webhook_posts_records_after_its_first_start(relay, process, monkeypatch):
    process("before")
    with WebhookServer() as server:
        monkeypatch.setenv("PERCEPTRON_WEBHOOKS", json.dumps([{"url": server.url, "on": "mistake"}]))
        assert "webhook mistake: 0 delivered" in relay("--exit-at-end").stderr
        process("win", "prize", "lose")
        found = relay("--exit-at-end")
        assert found.exit_code == 0, found.stderr
        assert server.ids() == ["predictions-0-3"]
        assert f"webhook mistake: {len(server.ids())} delivered, 0 attempts failed" in found.stderr


def test_missing_webhooks_are_an_error_that_names_their_table(relay):
    found = relay()
    assert found.exit_code == 2
    assert "[[webhooks]]" in found.stderr


def test_removed_option_is_rejected_by_name(relay):
    found = relay("--from", "start")
    assert found.exit_code == 2
    assert "consume predictions" in found.stderr
