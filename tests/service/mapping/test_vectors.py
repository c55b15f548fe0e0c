"""Lists of numbers become numbers; the first one that is read decides how long all others are."""

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.mapping.feature_step import FeatureMap, Vectors
from service.messages.features import VectorFeatures
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_decoder, make_question_decoder
from tests.service.building import Feed, settings

EVENTS = {"vectors": "e", "features": "*"}
ODD = st.sampled_from(
    [None, True, "x", "7", -1, [1.0], {}, float("nan"), float("inf"), 1.1e100, 10**400, 2**70]
)
LISTS = st.lists(st.floats(-9, 9) | st.integers(-3, 3), max_size=3) | st.lists(
    st.floats(-9, 9) | ODD, max_size=3
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b"]),
        "e": LISTS | ODD,
        "f": LISTS | st.none(),
        "e[0]": st.floats(-9, 9) | st.just("en"),
        "lang": st.sampled_from(["en", "de", True, 7]),
        "label": st.booleans(),
    },
)
MAPPINGS = st.fixed_dictionaries(
    {"vectors": st.sampled_from(["e", ["e", "f"], ["e", "e"]]), "features": st.sampled_from(["*", "lang"])},
    optional={"missing": st.just([-1]), "derive": st.just([("g", "field('e[0]') + 1")])},
)


def read(decoder, documents):
    """Return what a decoder makes of documents: values with their types, or why they are rejected."""
    found = []
    for each in documents:
        try:
            message = decoder.decode(json.dumps(each).encode())
        except Rejection as rejected:
            found.append(str(rejected.args) + rejected.reason)
        else:
            features = [(name, repr(value)) for name, value in message.features.items()]
            found.append((features, message.message_bytes, message.id, message.text, message.truth))
    return found


@given(MAPPINGS, st.lists(DOCUMENTS, max_size=5), st.sampled_from([64, 10_000]))
def test_arrays_equal_numbers_one_by_one(mapping, documents, most):
    given = settings(events=mapping, max_message_bytes=most)
    arrays = read(make_decoder(given), documents)
    with patch.object(Vectors, "pack", lambda *_: None):
        assert arrays == read(make_decoder(given), documents)


@pytest.mark.parametrize(
    ("value", "expected", "kind"),
    [
        (b'[0.5, 1], "lang": "en"', {"lang": "en", "e[0]": 0.5, "e[1]": 1.0}, VectorFeatures),
        (b'[0.5, 1, null], "n": 7', {"n": 7.0, "e[0]": 0.5, "e[1]": 1.0}, dict),
        (b'null, "n": 7', {"n": 7.0}, dict),
        (b"[true, 2]", {"e[0]": True, "e[1]": 2.0}, dict),
    ],
)
def test_complete_number_lists_become_arrays(value, expected, kind):
    features = make_decoder(settings(events=EVENTS)).decode(b'{"id": "a", "e": %s}' % value).features
    assert features == expected
    assert type(features) is kind


def test_integer_beyond_double_range_is_rejected():
    decoder = make_decoder(settings(events=EVENTS))
    with pytest.raises(Rejection, match="e"):
        decoder.decode(json.dumps({"id": "a", "e": [0.5, 10**400]}).encode())


@pytest.mark.parametrize("value", [b"[1, 2, 3]", b"[1]", b"7", b'["x", 2]', b"[[1], 2]"])
def test_list_of_another_length_or_of_non_numbers_is_rejected(value):
    decoder = make_decoder(settings(events=EVENTS))
    decoder.decode(b'{"id": "a", "e": [0.5, 1]}')
    with pytest.raises(Rejection, match=r"e.* \(events.vectors\)") as rejected:
        decoder.decode(b'{"id": "b", "e": %s}' % value)
    assert rejected.value.reason is Reason.INVALID_TYPE


def test_rejected_event_does_not_fix_the_vector_length():
    decoder = make_decoder(settings(events=EVENTS))
    with pytest.raises(Rejection):
        decoder.decode(b'{"e": [1, 2, 3]}')
    assert decoder.decode(b'{"id": "a", "e": [0.5]}')
    asked = make_question_decoder(settings(events=EVENTS))
    assert asked.decode(b'{"id": "a", "e": [0.5]}').features != asked.decode(b'{"id": "a", "e": [1, 2]}')


def test_length_is_in_the_state_of_the_partition():
    feed = Feed(events=EVENTS)
    feed({"id": "a", "e": [0.5, 1]})
    restored = Feed(events=EVENTS)
    restored.processor.restore(feed.processor.state())
    assert restored({"id": "b", "e": [1]})[0].topic == "dead-letters"
    older = {name: part for name, part in feed.processor.state().items() if name != "vectors"}
    restored.processor.restore(older)
    assert restored.output_of({"id": "b", "e": [1]})["id"] == "b"


def test_path_in_both_vectors_and_features_is_rejected():
    with pytest.raises(ValueError, match="'e' is in both"):
        settings(events={"vectors": "e", "features": "e"})


@pytest.mark.parametrize(("name", "numbers"), [("fractions", b"[0.5, 1.5]"), ("integers", b"[1, 2]")])
def test_unmapped_list_of_numbers_gives_a_warning(caplog, name, numbers):
    decoder = make_decoder(settings(events={"features": name}))
    for _ in range(2):
        decoder.decode(b'{"id": "a", "%s": %s}' % (name.encode(), numbers))
    assert [each.message.partition("; ")[2] for each in caplog.records] == [
        f"events.vectors = ['{name}'] keeps them as numbers"
    ]


def test_warnings_of_names_from_producers_are_bounded(caplog):
    names = [*(f"n{number}" for number in range(100)), "n" * 1001]
    for name in names * 2:
        FeatureMap([name], (), 2000).make({name: [7]})
    assert len(caplog.messages) == 64


def test_list_of_texts_and_booleans_gives_no_warning(caplog):
    make_decoder(settings(events={"features": "tags"})).decode(b'{"id": "a", "tags": ["x", true]}')
    assert not caplog.records


def test_numbers_in_objects_of_a_list_are_rejected_with_hint(caplog):
    FeatureMap(["line_items_here"], (), 1000).make({"line_items_here": [{"id": 7}]})
    (said,) = caplog.messages
    assert said.endswith(
        "events.exclude = ['line_items_here.id'] excludes them, the feature sum(line_items_here[].id) "
        "sums them"
    )
