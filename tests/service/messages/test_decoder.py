import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.messages.decoder import Decoder
from service.messages.labels import UnreadLabels, Vocabulary
from service.messages.rejection import Reason, Rejection
from tests.service.building import fields_of
from tests.service.poison import MAX_MESSAGE_BYTES, POISON

DECODER = Decoder(Vocabulary(), MAX_MESSAGE_BYTES)


def test_rejection_names_the_repeated_key():
    with pytest.raises(Rejection, match="expected each key of an object once, got 'x' twice"):
        DECODER.decode(b'{"id":"a","features":{"x":1,"y":2,"x":3}}')


def test_boolean_is_a_label_only_of_two_classes():
    value = b'{"id":"a","label":true}'
    assert Decoder(Vocabulary(["ham", "spam"]), MAX_MESSAGE_BYTES).decode(value).truth is True
    assert Decoder(UnreadLabels(), MAX_MESSAGE_BYTES).decode(value).truth is False
    with pytest.raises(Rejection, match="unknown label True"):
        Decoder(Vocabulary(["a", "b", "c"]), MAX_MESSAGE_BYTES).decode(value)


def test_every_rejection_reason_has_a_test_case():
    not_of_values = {Reason.MODEL_ERROR, Reason.HOOK_ERROR, Reason.EVENT_TIME_OUT_OF_RANGE}
    of_values_with_schemas = {Reason.NO_SCHEMA, Reason.UNKNOWN_SCHEMA, Reason.INVALID_DATA}
    assert {reason for _, reason in POISON.values()} == set(Reason) - not_of_values - of_values_with_schemas


def test_event_is_decoded_with_all_its_fields():
    value = b'{"id":"m-17","features":{"length":12.5,"lang":"en","urgent":true},"text":"Win","label":1}'
    event = DECODER.decode(value)
    features = {"length": 12.5, "lang": "en", "urgent": True}
    assert fields_of(event) == ("m-17", features, "Win", 1, True, False, len(value), None, None, None, None)


@pytest.mark.parametrize(
    "value", [b'{"id":"a","label":-1}', b'{"id":"a","label":-1,"text":null,"features":null}']
)
def test_message_without_features_and_text_is_a_label(value):
    label = DECODER.decode(value)
    assert label.is_label
    assert label.truth is False


@pytest.mark.parametrize(
    "value", [b'{"id":"a","features":{}}', b'{"id":"a","text":""}', b' {"id":"a","text":"","label":null} ']
)
def test_features_and_text_may_be_empty(value):
    event = DECODER.decode(value)
    assert not event.is_label
    assert event.truth is None


def test_error_names_the_position():
    with pytest.raises(Rejection, match=r"features\.length: .*finite"):
        DECODER.decode(b'{"id":"a","features":{"length":NaN}}')


@pytest.mark.parametrize("value", ["1e300", "-1e300", "1" + "0" * 200])
def test_limit_is_written_in_few_digits(value):
    with pytest.raises(Rejection, match=r"features\.x: expected a number of at (most |least -)1e\+100$"):
        DECODER.decode(f'{{"id":"a","features":{{"x":{value}}}}}'.encode())


def test_negative_weight_is_rejected_with_its_bound():
    with pytest.raises(Rejection, match=r"weight: expected a number of at least 0$"):
        DECODER.decode(b'{"id":"a","label":true,"weight":-0.5}')


def test_error_of_an_unknown_label_lists_the_known_labels():
    with pytest.raises(Rejection, match=r"unknown label 'maybe', expected .*'ham', 'spam'"):
        Decoder(Vocabulary(("ham", "spam")), 1000).decode(b'{"id":"a","text":"x","label":"maybe"}')


@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_or_rejected(value):
    with contextlib.suppress(Rejection):
        DECODER.decode(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("id", "features", "text", "label", "weight", "extra"), json_values)
    )
)
def test_accepted_messages_are_finite_and_typed(message):
    try:
        taken = DECODER.decode(json.dumps(message).encode())
    except Rejection:
        return
    assert 1 <= len(taken.id) <= 256
    assert taken.truth in {None, True, False}
    for value in (taken.features or {}).values():
        assert isinstance(value, str) or math.isfinite(value)
