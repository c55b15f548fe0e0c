"""What an alert says, and that its receiver can tell whom it is from."""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.settings.parts import WebhookSettings
from service.stream.protocol import Record
from service.webhooks.alerts import Alert, AlertMaker, headers_of

FIELDS = {"id": "m-1", "label": "spam", "score": 1.5, "mistake": True}


def alert(fields, value=None, **hook):
    made = WebhookSettings(**{"url": "https://example.org/x", "on": "mistake", **hook})
    value = json.dumps(fields).encode() if value is None else value
    return AlertMaker(made).alert(Record("predictions", 3, 17, 0, None, value))


@pytest.mark.parametrize(
    "value",
    [b"no JSON", b"\xff", b"[" * 100_000, b'{"mistake": true, "a": ' + b"[" * 900 + b"]" * 900 + b"}"],
)
def test_unreadable_record_is_counted_and_makes_no_alert(value):
    maker = AlertMaker(WebhookSettings(url="https://example.org/x", on="mistake"))
    assert (maker.alert(Record("predictions", 3, 17, 0, None, value)) is None) is (maker.n_unreadable == 1)


def test_webhook_body_has_record_and_position():
    found = alert(FIELDS)
    assert found.id == "predictions-3-17"
    place = {"on": "mistake", "topic": "predictions", "partition": 3, "offset": 17}
    assert json.loads(found.body) == {**place, "record": FIELDS}


@pytest.mark.parametrize(
    ("on", "others"),
    [
        ("drift", [{"type": "promote", "data": {}}, {"type": "drift"}, FIELDS]),
        ("mistake", [{**FIELDS, "mistake": False}, {"id": "m-1"}, [], 7, None, b"", b"no JSON", b"\xff"]),
    ],
)
def test_webhook_ignores_other_records(on, others):
    values = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in others]
    assert [alert(None, value, on=on) for value in values] == [None] * len(values)


@given(st.dictionaries(st.sampled_from(["mistake", "decision", "id"]), st.booleans() | st.text() | st.none()))
def test_first_matching_reason_is_named(fields):
    found = alert(fields, on="decision:block,mistake")
    holds = [fields.get("decision") == "block", fields.get("mistake") is True]
    assert (found is not None) == any(holds)
    if found is not None:
        assert json.loads(found.body)["on"] == ("decision:block" if holds[0] else "mistake")


@pytest.mark.parametrize(
    ("secret", "key"),
    [("a secret", b"a secret"), ("whsec_" + b64encode(b"\x00\x01key").decode(), b"\x00\x01key")],
)
def test_signature_follows_standard_webhooks(secret, key):
    headers = headers_of(Alert("a-0-1", 1, b'{"a":1}'), secret, 1700000000)
    version, signature = headers["webhook-signature"].split(",")
    assert version == "v1"
    assert b64decode(signature) == hmac.new(key, b'a-0-1.1700000000.{"a":1}', hashlib.sha256).digest()
    assert headers["webhook-timestamp"] == "1700000000"


def test_webhook_without_secret_is_unsigned():
    assert "webhook-signature" not in headers_of(Alert("a-0-1", 1, b""), "", 0)
