"""Values become documents, or are refused for the reason that the native schema would give."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.topics import KINDS, READERS, read_json, read_text
from service.messages.rejection import Reason, Rejection
from service.settings.mapping import EventSettings, LabelSettings

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES))
def test_json_is_read_as_python_reads_it(document):
    assert read_json(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"[1]", Reason.NOT_AN_OBJECT),
        (b"{", Reason.INVALID_JSON),
        (b'{"a": \xff}', Reason.INVALID_UTF8),
        (b'{"a":' * 300 + b"1" + b"}" * 300, Reason.TOO_DEEP),
        (b'{"a": 1' + b"0" * 5000 + b"}", Reason.OUT_OF_RANGE),
    ],
)
def test_what_is_no_object_is_refused(value, reason):
    with pytest.raises(Rejection) as refused:
        read_json(value)
    assert refused.value.reason is reason


@given(st.text())
def test_text_is_the_whole_value(text):
    assert read_text(text.encode()) == text


def test_text_that_is_not_utf_8_is_refused():
    with pytest.raises(Rejection, match="byte 1 is not UTF-8"):
        read_text(b"a\xff")


@pytest.mark.parametrize("settings", [EventSettings, LabelSettings])
def test_every_format_that_can_be_set_has_a_reader(settings):
    assert set(settings.model_json_schema()["properties"]["format"]["enum"]) == {*READERS, *KINDS}
