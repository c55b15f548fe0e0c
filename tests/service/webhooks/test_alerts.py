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
def test_an_unreadable_record_is_counted_and_makes_no_alert(value):
    maker = AlertMaker(WebhookSettings(url="https://example.org/x", on="mistake"))
    record = Record("predictions", 3, 17, 0, None, value)
    assert (maker.alert(record) is None) is (maker.n_unreadable == 1)


def test_without_a_template_it_is_the_record_and_its_place():
    found = alert(FIELDS)
    assert found.id == "predictions-3-17"
    place = {"on": "mistake", "topic": "predictions", "partition": 3, "offset": 17}
    assert json.loads(found.body) == {**place, "record": FIELDS}


def test_a_template_has_fields_in_its_texts():
    template = {"text": "{id}: {label}, {missing}{score}", "n": "{offset}", "more": ["{on}", 7, None]}
    expected = {"text": "m-1: spam, 1.5", "n": 17, "more": ["mistake", 7, None]}
    for form in (template, json.dumps(template)):
        assert json.loads(alert(FIELDS, template=form).body) == expected


@given(st.text())
def test_an_id_stays_within_the_text_that_it_stands_in(event_id):
    found = alert({**FIELDS, "id": event_id}, template={"text": "wrong: {id}", "other": 1})
    assert json.loads(found.body) == {"text": f"wrong: {event_id}", "other": 1}


def test_a_template_for_drifts_may_use_the_drifts_fields():
    drift = {"id": "drift-3-1", "type": "drift", "data": {"signal": "error", "partition": 3, "after": 0.2}}
    found = alert(drift, on="drift", template={"text": "{signal} of {partition}: {after}", "id": "{id}"})
    assert json.loads(found.body) == {"text": "error of 3: 0.2", "id": "drift-3-1"}


@pytest.mark.parametrize(
    ("on", "others"),
    [
        ("drift", [{"type": "promote", "data": {}}, {"type": "drift"}, FIELDS]),
        ("mistake", [{**FIELDS, "mistake": False}, {"id": "m-1"}, [], 7, None, b"", b"no JSON", b"\xff"]),
    ],
)
def test_a_webhook_is_about_nothing_else(on, others):
    values = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in others]
    assert [alert(None, value, on=on) for value in values] == [None] * len(values)


@given(st.dictionaries(st.sampled_from(["mistake", "decision", "id"]), st.booleans() | st.text() | st.none()))
def test_the_first_reason_that_holds_is_named(fields):
    found = alert(fields, on="decision:block,mistake")
    holds = [fields.get("decision") == "block", fields.get("mistake") is True]
    assert (found is not None) == any(holds)
    if found is not None:
        assert json.loads(found.body)["on"] == ("decision:block" if holds[0] else "mistake")


@pytest.mark.parametrize(
    ("secret", "key"),
    [("a secret", b"a secret"), ("whsec_" + b64encode(b"\x00\x01key").decode(), b"\x00\x01key")],
)
def test_the_signature_is_that_of_standard_webhooks(secret, key):
    headers = headers_of(Alert("a-0-1", 1, b'{"a":1}'), secret, 1700000000)
    version, signature = headers["webhook-signature"].split(",")
    assert version == "v1"
    expected = hmac.new(key, b'a-0-1.1700000000.{"a":1}', hashlib.sha256).digest()
    assert b64decode(signature) == expected
    assert headers["webhook-timestamp"] == "1700000000"


def test_without_a_secret_there_is_no_signature():
    assert "webhook-signature" not in headers_of(Alert("a-0-1", 1, b""), "", 0)
