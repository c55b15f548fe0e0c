"""Lists of numbers become numbers; the first one that is read decides how long all others are."""

import pytest

from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_decoder, make_question_decoder
from tests.service.building import Feed, settings

EVENTS = {"vectors": "e", "features": "*"}


def test_each_number_is_a_feature():
    decoder = make_decoder(settings(events=EVENTS))
    assert decoder.decode(b'{"id": "a", "e": [0.5, 1, null], "n": 7}').features == {
        "n": 7.0,
        "e[0]": 0.5,
        "e[1]": 1.0,
    }
    assert decoder.decode(b'{"id": "a", "e": null, "n": 7}').features == {"n": 7.0}


@pytest.mark.parametrize("value", [b"[1, 2, 3]", b"[1]", b"7", b'["x", 2]', b"[[1], 2]"])
def test_another_length_and_what_is_no_list_of_numbers_is_refused(value):
    decoder = make_decoder(settings(events=EVENTS))
    decoder.decode(b'{"id": "a", "e": [0.5, 1]}')
    with pytest.raises(Rejection, match=r"e.* \(events.vectors\)") as refused:
        decoder.decode(b'{"id": "b", "e": %s}' % value)
    assert refused.value.reason is Reason.INVALID_TYPE


def test_an_event_that_is_refused_decides_nothing():
    decoder = make_decoder(settings(events=EVENTS))
    with pytest.raises(Rejection):
        decoder.decode(b'{"e": [1, 2, 3]}')
    assert decoder.decode(b'{"id": "a", "e": [0.5]}')
    asked = make_question_decoder(settings(events=EVENTS))
    assert asked.decode(b'{"id": "a", "e": [0.5]}').features != asked.decode(b'{"id": "a", "e": [1, 2]}')


def test_the_length_is_in_the_state_of_the_partition():
    feed = Feed(events=EVENTS)
    feed({"id": "a", "e": [0.5, 1]})
    restored = Feed(events=EVENTS)
    restored.processor.restore(feed.processor.state())
    assert restored({"id": "b", "e": [1]})[0].topic == "dead-letters"
    older = {name: part for name, part in feed.processor.state().items() if name != "vectors"}
    restored.processor.restore(older)
    assert restored.answer({"id": "b", "e": [1]})["id"] == "b"


def test_a_path_is_a_vector_or_a_feature():
    with pytest.raises(ValueError, match="'e' is in both"):
        settings(events={"vectors": "e", "features": "e"})


def test_a_list_of_numbers_without_the_setting_is_warned_of_once(caplog):
    decoder = make_decoder(settings(events={"features": "unheard"}))
    for _ in range(2):
        decoder.decode(b'{"id": "a", "unheard": [0.5, 1]}')
    assert [each.message.partition("; ")[2] for each in caplog.records] == [
        "events.vectors = ['unheard'] makes numbers of them"
    ]
