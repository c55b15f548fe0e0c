"""An id is in the document, the key, a header, or is the record's place."""

import pytest

from service.mapping.ids import id_finder
from service.messages.rejection import Rejection
from service.stream import Record

RECORD = Record("clicks", 3, 42, 0, b"k-1", b"{}", (("trace", b"t-1"), ("trace", b"t-2")))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("message.uuid", "7"),
        ("@key", "k-1"),
        ("@header.trace", "t-2"),
        ("@header.other", None),
        ("@offset", "clicks-3-42"),
        ("join('-', [kind, to_string(message.uuid)])", "order-7"),
    ],
)
def test_an_id_is_found_where_it_is(place, expected):
    assert id_finder(place)({"kind": "order", "message": {"uuid": 7}}, RECORD) == expected


def test_a_boolean_is_not_made_an_id():
    assert id_finder("id")({"id": True}, RECORD) is True


@pytest.mark.parametrize("place", ["@key", "@header.trace"])
def test_bytes_that_are_no_text_are_refused(place):
    record = RECORD._replace(key=b"\xff", headers=(("trace", b"\xff"),))
    with pytest.raises(Rejection, match=f"^invalid_id: {place}: byte 0 is not UTF-8"):
        id_finder(place)({}, record)


@pytest.mark.parametrize("place", ["@key", "@header.trace", "@offset"])
def test_without_a_record_each_message_gets_an_id_of_its_own(place):
    find = id_finder(place)
    assert find({}, None) != find({}, None)


def test_a_record_without_a_key_has_no_id():
    assert id_finder("@key")({}, RECORD._replace(key=None)) is None
