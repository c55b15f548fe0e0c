"""`perceptron relay` posts what is committed."""

import json

import pytest

from tests.support.webhook_server import WebhookServer


@pytest.fixture
def relay(perceptron, broker):
    """Process three events, two of them mistakes; relay them with arguments."""
    events = [
        {"id": f"e-{n}", "text": text, "label": n < 2} for n, text in enumerate(["win", "prize", "win"])
    ]
    given = ("--broker", broker)
    perceptron("produce", "-", *given, stdin="\n".join(map(json.dumps, events)))
    assert perceptron("serve", *given, "--http", "", "--exit-at-end").exit_code == 0
    return lambda *arguments: perceptron("relay", *given, *arguments)


def test_posts_what_there_is_and_counts_it(relay, monkeypatch):
    with WebhookServer() as server:
        monkeypatch.setenv("PERCEPTRON_WEBHOOKS", json.dumps([{"url": server.url, "on": "mistake"}]))
        found = relay("--from", "start", "--exit-at-end")
        assert found.exit_code == 0, found.stderr
        assert server.ids() == ["predictions-0-0", "predictions-0-2"]
        assert f"webhook mistake: {len(server.ids())} delivered, 0 attempts failed" in found.stderr
        assert "webhook mistake: 0 delivered" in relay("--exit-at-end").stderr


def test_without_webhooks_it_says_where_they_belong(relay):
    found = relay()
    assert found.exit_code == 2
    assert "[[webhooks]]" in found.stderr
