"""A message of a played file differs from its original in id and label only, and only as asked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.files.input_files import named_anew, split_label

FOREIGN = [b"not json", b"\xff", b"[1]", b"3", b"{}", b"[" * 100_000]


@pytest.mark.parametrize("message", FOREIGN)
def test_what_is_no_message_passes_untouched(message):
    assert named_anew(message, ["id"], "@1") == message
    assert named_anew(message, ["order", "id"], "@1") == message
    assert split_label(message) == (message, None)


def test_the_suffix_goes_behind_the_id_and_nowhere_else():
    message = b'{"id":"a","features":{"id":2,"x":0.1},"label":1}'
    assert named_anew(message, ["id"], "@7") == b'{"id":"a@7","features":{"id":2,"x":0.1},"label":1}'


@given(
    fields=st.fixed_dictionaries(
        {"id": st.text(), "label": st.booleans() | st.integers() | st.text()},
        optional={"text": st.text(), "features": st.dictionaries(st.text(), st.floats(allow_nan=False))},
    )
)
def test_event_and_label_together_are_what_was_split(fields):
    event, label = split_label(json.dumps(fields).encode())
    if label is None:
        assert (json.loads(event), fields.keys()) == (fields, {"id", "label"})
    else:
        assert json.loads(event) | json.loads(label) == fields
        assert "label" not in json.loads(event)
        assert json.loads(label).keys() == {"id", "label"}
