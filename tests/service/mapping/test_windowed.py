"""What windows count is found in documents; records that are keyed otherwise are warned of."""

import json

import pytest

from service.mapping.windowed import hash_of, key_text
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_decoder
from service.stream.protocol import Record
from tests.service.building import settings

WINDOW = {"by": "card.number", "over": ["1h"], "of": {"amount": "sum"}}


def decoded(value, *, record=None, **events):
    given = settings(events={"features": "other", "windows": [WINDOW], **events})
    return make_decoder(given).decode(json.dumps(value).encode(), record)


def test_window_fields_are_known():
    value = {"id": "a", "card": {"number": 7}, "amount": 2, "other": 1}
    assert decoded(value, unknown_fields="reject").windowed == ((hash_of("7"), [2.0], []),)
    with pytest.raises(Rejection, match="unheard"):
        decoded({**value, "unheard": 1}, unknown_fields="reject")


def test_non_finite_key_is_rejected():
    with pytest.raises(Rejection) as rejected:
        key_text(float("inf"), "card")
    assert rejected.value.reason is Reason.NOT_FINITE


HASHES = [-5426141060434712860, -9038873097560174361, 2396613863943354522, 7497787021708494914]


def test_window_hashes_are_fixed():
    assert [hash_of(text) for text in ("", "7", "x" * 100, "\ud800")] == HASHES


@pytest.mark.parametrize(
    ("partition", "key", "warnings"), [(0, b"other", 0), (1, b"c-1", 0), (1, b"other", 1), (3, None, 1)]
)
def test_different_key_in_several_partitions_gives_one_warning(caplog, partition, key, warnings):
    by = f"card_{partition}_{len(key or b'')}"
    decoder = make_decoder(settings(events={"features": "other", "windows": [{**WINDOW, "by": by}]}))
    for offset in range(2):
        value = json.dumps({"id": "a", by: "c-1", "other": 1}).encode()
        decoder.decode(value, Record("events", partition, offset, 0, key, value))
    found = [
        each.message for each in caplog.records if "each partition counts only its own events" in each.message
    ]
    assert len(found) == warnings
