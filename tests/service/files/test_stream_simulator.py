"""A played message differs from its original in id and label only, and only as asked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.files.stream_simulator import StreamSimulator, split_label
from service.messages.labels import Vocabulary

FOREIGN = [b"not json", b"\xff", b"[1]", b"3", b"{}", b"[" * 100_000]


def labels(simulator, spelled, n_messages):
    message = json.dumps({"id": "a", "text": "", "label": spelled}).encode()
    return [json.loads(simulator.play(message))["label"] for _ in range(n_messages)]


def test_a_message_passes_untouched_when_nothing_is_asked():
    message = b'{ "id": "a", "text": "\\u00e9", "label": 1.0 }'
    assert StreamSimulator(Vocabulary()).play(message) == message


@pytest.mark.parametrize("message", FOREIGN)
def test_what_is_no_message_passes_untouched(message):
    simulator = StreamSimulator(Vocabulary(), drift_every=1)
    simulator.id_suffix = "@1"
    assert simulator.play(message) == message
    assert split_label(message) == (message, None)


def test_the_suffix_goes_behind_the_id_and_nowhere_else():
    simulator = StreamSimulator(Vocabulary())
    simulator.id_suffix = "@7"
    message = b'{"id":"a","features":{"id":2,"x":0.1},"label":1}'
    assert simulator.play(message) == b'{"id":"a@7","features":{"id":2,"x":0.1},"label":1}'


@pytest.mark.parametrize(
    ("classes", "spelled", "expected"),
    [
        ((), True, [True, True, False, False, True]),
        ((), -1, [False, False, True, True, False]),
        (("ham", "spam"), "ham", ["ham", "ham", "spam", "spam", "ham"]),
        (("ham", "spam"), 1, ["spam", "spam", "ham", "ham", "spam"]),
        (("a", "b", "c"), "b", ["b", "b", "c", "c", "a"]),
        ((), "unknown", ["unknown"] * 5),
    ],
)
def test_labels_move_on_after_every_so_many_messages(classes, spelled, expected):
    assert labels(StreamSimulator(Vocabulary(classes), drift_every=2), spelled, 5) == expected


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
