"""Records of any shape become events and labels as of the native schema, or are rejected by path."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.mapping.mapper import EventMapper, LabelMapper
from service.messages.decoder import Decoder
from service.messages.json_values import read_json
from service.messages.labels import Vocabulary
from service.messages.rejection import Rejection, Skipped
from service.partition.factory import make_decoder, make_question_decoder
from service.settings.mapping import EventSettings, LabelSettings
from service.stream.protocol import Record
from tests.service.building import Feed, fields_of, settings

LARGE = 1 << 20
CLASSES = ("no", "yes")
NAN, INFINITY = float("nan"), float("inf")
HEADERS = (("trace", b"t-1"), ("trace", b"t-2"))


def decode(value, events, topic="events", key=b"k-1", headers=HEADERS, **given):
    """Decode a record of a topic under the settings of its table."""
    data = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    decoder = make_decoder(settings(**{topic: events}, **given))
    return decoder.decode(data, Record(topic, 3, 42, 0, key, data, headers))


NUMBERS = st.one_of(
    st.integers(-(10**99), 10**99), st.floats(-1e100, 1e100), st.sampled_from([2**53 + 1, 10**17 + 1])
)
FEATURES = st.dictionaries(st.text(), st.one_of(NUMBERS, st.booleans(), st.text()))
EVENTS = st.fixed_dictionaries(
    {"id": st.text(min_size=1, max_size=256)},
    optional={
        "features": st.none() | FEATURES,
        "text": st.none() | st.text(),
        "label": st.sampled_from([None, True, False, 1, -1, 0, 1.0, "no", "yes"]),
    },
).filter(lambda fields: fields.get("features") is not None or fields.get("text") is not None)


@given(EVENTS)
def test_native_schema_as_a_mapping_reads_the_same(fields):
    value = json.dumps(fields).encode()
    own = Decoder(Vocabulary(CLASSES), LARGE).decode(value)
    mapper = EventMapper(EventSettings(unknown_fields="ignore"), Vocabulary(CLASSES), read_json, LARGE)
    mapped = mapper.read(json.loads(value), None, len(value))
    own.features = own.features or {}
    assert fields_of(mapped) == fields_of(own)
    assert [*map(type, mapped.features.values())] == [*map(type, own.features.values())]


@given(st.text(min_size=1), st.sampled_from([True, 0, -1, "yes"]))
def test_label_of_the_native_schema_reads_as_a_mapped_one(event_id, value):
    message = json.dumps({"id": event_id, "label": value}).encode()
    own = Decoder(Vocabulary(CLASSES), LARGE).decode(message)
    mapper = LabelMapper(LabelSettings(unknown_fields="ignore"), Vocabulary(CLASSES), read_json)
    assert fields_of(mapper.read(json.loads(message), None, len(message))) == fields_of(own)


X = {"features": "x"}
AT = X | {"timestamp": "at"}
MAIL = {"id": "a", "mail": {"subject": "Hi", "body": "there", "footer": None}}
PAID = {"id": 7, "status": "paid", "at": 1700000000, "body": "x", "amount": 5, "secret": 1}
PLACE = {"kind": "order", "m": {"uuid": 7}, "x": 1}
READ = {
    "flat JSON": ({"id": "a", "n": 5.5, "c": "de"}, {"features": "*"}, {"features": {"n": 5.5, "c": "de"}}),
    "an integer id": ({"id": 17, "n": 5.5}, {"features": "*"}, {"id": "17", "features": {"n": 5.5}}),
    "an id by a path": (PLACE, X | {"id": "m.uuid"}, {"id": "7"}),
    "an id by an expression": (PLACE, X | {"id": "join('-', [kind, to_string(m.uuid)])"}, {"id": "order-7"}),
    "the key": (PLACE, X | {"id": "@key"}, {"id": "k-1"}),
    "a header's last value": (PLACE, X | {"id": "@header.trace"}, {"id": "t-2"}),
    "the record's place": (PLACE, X | {"id": "@offset"}, {"id": "events-3-42"}),
    "texts are joined": (MAIL, {"text": "mail.subject,mail.no,mail.footer,mail.body"}, {"text": "Hi\nthere"}),
    "a list of texts": ({"id": "a", "p": [{"t": "x"}, {"t": "y"}]}, {"text": "p[].t"}, {"text": "x\ny"}),
    "a list with a null": ({"id": "a", "p": ["x", None, "y"]}, {"text": "p"}, {"text": "x\ny"}),
    "a number as text": ({"id": "a", "title": 1984}, {"text": "title"}, {"text": "1984"}),
    "HTML": (
        {"id": "a", "body": "<p>a<b>b</b></p>c", "s": "d<br>e"},
        {"text": "s,body", "text_format": "html"},
        {"text": "d e\nab c"},
    ),
    "a label by comparison": ({"id": 1, "x": 1, "s": "bad"}, X | {"label": "s == 'bad'"}, {"truth": True}),
    "and another": ({"id": 1, "x": 1, "s": "ok"}, X | {"label": "s == 'bad'"}, {"truth": False}),
    "no label": ({"id": 1, "x": 1}, X | {"label": "v"}, {"label": None, "truth": None, "is_label": False}),
    "a null label": ({"id": 1, "x": 1, "v": None}, X | {"label": "v"}, {"label": None, "truth": None}),
    "all but what others use": (
        PAID,
        {
            "label": "status == 'paid'",
            "timestamp": "at",
            "text": "body",
            "exclude": "secret",
            "features": "*",
        },
        {"features": {"amount": 5.0}},
    ),
    "a label that is a feature": (
        {"id": 1, "n": 50},
        {"label": "n > `10`", "features": "n"},
        {"truth": True, "features": {"n": 50.0}},
    ),
    "expressions' fields are known": (
        {"id": 1, "items": [{"n": 1}], "status": "paid"},
        {"features": "length(items)", "label": "status == 'paid'", "unknown_fields": "reject"},
        {"features": {"length(items)": 1.0}},
    ),
    "an event time": ({"id": 1, "x": 1, "at": "1970-01-01T00:00:02Z"}, AT, {"timestamp_ms": 2000}),
    "a tenant": ({"id": 1, "x": 1, "who": "5"}, X | {"tenant": "who"}, {"tenant": "5"}),
    "an integer tenant": ({"id": 1, "x": 1, "who": 5}, X | {"tenant": "who"}, {"tenant": "5"}),
    "a whole tenant": ({"id": 1, "x": 1, "who": 5.0}, X | {"tenant": "who"}, {"tenant": "5"}),
    "no tenant": ({"id": 1, "x": 1, "who": None}, X | {"tenant": "who"}, {"tenant": None}),
    "NaN": ({"id": 1, "x": 1, "n": NAN}, {"features": "x,n", "missing": "NaN"}, {"features": {"x": 1}}),
    "the whole value": (b"win a prize", {"format": "text", "id": "@key"}, {"text": "win a prize"}),
    "where it is true": ({"id": 1, "x": 1}, X | {"where": "x"}, {"features": {"x": 1}}),
    "where it is 0": ({"id": 1, "x": 0}, X | {"where": "x"}, {"features": {"x": 0}}),
    "where it is empty": ({"id": 1, "x": 1, "k": ""}, X | {"where": "k"}, {"features": {"x": 1}}),
    "a filter's field is known": (
        {"id": 1, "m": 1, "k": 2},
        {"where": "n || m", "features": "k", "unknown_fields": "reject"},
        {"features": {"k": 2}},
    ),
}


@pytest.mark.parametrize("case", READ)
def test_record_is_read_by_the_settings(case):
    value, events, expected = READ[case]
    found = decode(value, events)
    assert {name: getattr(found, name) for name in expected} == expected


STRICT = {"unknown_fields": "reject"}
ENDLESS = {"id": "a", "x": 1, "n": INFINITY}
REJECTED = {
    "no id": ({"x": 1}, X, "missing_field: id (events.id): missing"),
    "no id at its path": ({"m": {}}, {"id": "m.uuid"}, "missing_field: m.uuid (events.id): missing"),
    "a fraction as id": ({"id": 8.0, "x": 1}, X, "invalid_id: id (events.id): expected a string or a whole"),
    "a boolean as id": ({"id": True, "x": 1}, X, "invalid_id: id (events.id): "),
    "an empty id": ({"id": "", "x": 1}, X, "invalid_id: id (events.id): "),
    "a long id": ({"id": "i" * 257, "x": 1}, X, "invalid_id: id (events.id): "),
    "no header": ({"x": 1}, X | {"id": "@header.other"}, "missing_field: @header.other (events.id)"),
    "too large": ({"id": 1, "a": {"x": 1e101}}, {"features": "a.x"}, "out_of_range: a.x: "),
    "too large below": ({"id": 1, "a": {"x": 10**101}}, {"features": "a.*"}, "out_of_range: a.x: "),
    "not finite": ({"id": 1, "x": NAN}, {"features": "*"}, "not_finite: x: "),
    "not finite, missing without it": ({"id": 1, "x": NAN}, X, "not_finite: x: "),
    "a list as label": ({"id": 1, "x": 1, "v": [1]}, X | {"label": "v"}, "invalid_type: v (events.label)"),
    "no such label": ({"id": 1, "x": 1, "v": "w"}, X | {"label": "v"}, "unknown_label: v (events.label): "),
    "an object as text": ({"id": 1, "body": {"a": 1}}, {"text": "body"}, "invalid_type: body (events.text)"),
    "nothing": ({"id": 1, "y": 1}, X, "missing_field: text, x (events.text, events.features)"),
    "abs of text": ({"id": 1, "x": "a"}, {"features": "abs(x)"}, "invalid_type: abs(x): abs(): expected num"),
    "no time": ({"id": 1, "x": 1}, AT, "missing_field: at (events.timestamp): missing"),
    "word as time": ({"id": 1, "x": 1, "at": "soon"}, AT, "invalid_type: at (events.timestamp): expected"),
    "an unknown field": (
        {"id": 1, "a": {"x": 1, "y": 2}},
        {"features": "a.x"} | STRICT,
        "unknown_field: a.y: ",
    ),
    "an unknown field in a list": (
        {"id": 1, "x": 1, "items": [{"sku": 1}, {"color": 2}]},
        X | STRICT | {"exclude": "items.sku"},
        "unknown_field: items.color: unknown field",
    ),
    "a bare label": (
        {"id": "a", "label": True, "x": None},
        {"features": "{n: to_number(x)}"},
        "missing_field: text, {n: to_number(x)} (events.text, events.features): all are missing; labels",
    ),
    "and all of it": ({"id": "a", "label": True, "x": None}, {"features": "*"}, "missing_field: text, * "),
    "a filter that fails": ({"id": 1, "n": 7}, {"where": "length(n) > `1`"}, "invalid_type: events.where: "),
    "not finite as text": (ENDLESS, X | {"text": "n"}, "not_finite: n (events.text): expected a finite"),
    "not finite as tenant": (ENDLESS, X | {"tenant": "n"}, "not_finite: n (events.tenant): expected a"),
    "not finite as category": ({"id": "a", "tags": [-INFINITY]}, {"features": "*"}, "not_finite: tags: "),
    **{
        f"the tenant {value!r}": (
            {"id": "a", "x": 1, "who": value},
            X | {"tenant": "who"},
            "invalid_type: who (events.tenant): ",
        )
        for value in (True, False, "", [], {})
    },
    "no value": (None, X, "empty: "),
    "an empty value": (b"", X, "empty: "),
}


@pytest.mark.parametrize("case", REJECTED)
def test_unmappable_record_is_rejected_by_path(case):
    value, events, message = REJECTED[case]
    with pytest.raises(Rejection) as rejected:
        decode(value, events)
    assert str(rejected.value).startswith(message)
    assert not isinstance(rejected.value, Skipped)


@pytest.mark.parametrize("place", ["@key", "@header.trace"])
def test_id_that_is_not_utf8_is_rejected(place):
    with pytest.raises(Rejection, match=f"^invalid_id: {place}: byte 0 is not UTF-8"):
        decode({"x": 1}, X | {"id": place}, key=b"\xff", headers=(("trace", b"\xff"),))


def test_record_without_a_key_has_no_id():
    with pytest.raises(Rejection, match="@key"):
        decode({"x": 1}, X | {"id": "@key"}, key=None)


@pytest.mark.parametrize("place", ["@key", "@header.trace", "@offset"])
def test_prediction_requests_without_id_get_distinct_ids(place):
    decoder = make_decoder(settings(events=X | {"id": place}))
    assert decoder.decode(b'{"x": 1}').id != decoder.decode(b'{"x": 1}').id


def test_overlong_value_is_not_read():
    with pytest.raises(Rejection, match=r"^too_large"):
        decode(b'"' + b"x" * 99, X, max_message_bytes=64)


LABELS = {"id": "ref", "label": "paid"}
TEXT = {"format": "text", "id": "@key"}
READ_LABELS = {
    "fields": ({"ref": 7, "at": 3, "paid": True}, LABELS | {"timestamp": "at"}, (), "7", True, True, 3000),
    "the native schema": ({"id": "7", "label": 1}, {"where": "label"}, (), "7", 1, True, None),
    "a text": (b"yes", TEXT, CLASSES, "k-1", "yes", True, None),
    **{
        f"{text} of {classes}": (text, TEXT, classes, "k-1", value, truth, None)
        for text, value, truth in (
            (b"true", True, True),
            (b"false", False, False),
            (b"1", 1, True),
            (b"-1", -1, False),
            (b"0", 0, False),
        )
        for classes in ((), CLASSES)
    },
}


@pytest.mark.parametrize("case", READ_LABELS)
def test_label_is_read_by_the_settings(case):
    value, labels, classes, *expected = READ_LABELS[case]
    found = decode(value, labels, "labels", classes=classes)
    assert [found.id, found.label, found.truth, found.timestamp_ms] == expected
    assert found.is_label


@pytest.mark.parametrize(
    ("value", "labels", "classes", "message"),
    [
        ({"ref": 1}, LABELS, (), "missing_field: paid (labels.label): missing"),
        ({"ref": 1, "paid": None}, LABELS, (), "missing_field: paid (labels.label): missing"),
        ({"ref": 1, "paid": "true"}, LABELS, (), "unknown_label: "),
        (b"true", TEXT, ("a", "b", "c"), "unknown_label: "),
    ],
    ids=str,
)
def test_invalid_label_is_rejected(value, labels, classes, message):
    with pytest.raises(Rejection) as rejected:
        decode(value, labels, "labels", classes=classes)
    assert str(rejected.value).startswith(message)


def test_unmapped_topic_has_the_native_schema():
    mapped_events = make_decoder(settings(events={"id": "order.id"}))
    record = Record("labels", 0, 0, 0, None, b'{"id": "7", "label": true}')
    assert mapped_events.decode(record.value, record).is_label
    assert decode({"id": "7", "text": "x"}, {}, labels=LABELS).text == "x"
    assert make_decoder(settings(events={"unknown_fields": "reject"})).has_native_schema


def test_message_bytes_include_long_feature_names():
    value = json.dumps({"order": {"id": 7, "n" * 100: {str(n): n for n in range(50)}}}).encode()
    assert decode(value, {"id": "order.id", "features": ["order.*"]}).message_bytes > len(value)


@pytest.mark.parametrize("value", ["false", "null"])
@pytest.mark.parametrize("topic", ["events", "labels"])
def test_filter_skips_false_or_null_before_any_other_check(topic, value):
    with pytest.raises(Skipped, match=f"{topic}.where"):
        decode(f'{{"kind": {value}, "features": 7}}'.encode(), {"where": "kind"}, topic)


def test_prediction_request_needs_no_label_and_no_time():
    events = {"label": "verdict", "timestamp": "at", "features": "*"}
    asked = make_question_decoder(settings(events=events))
    read = asked.decode(b'{"id": 1, "x": 5, "verdict": "unheard of"}')
    assert (read.label, read.timestamp_ms, read.features) == (None, None, {"x": 5.0})


@given(st.lists(st.sampled_from([-9999, -9999.0, "NaN", "", 0, True, "x", None, 2.5]), max_size=4))
def test_missing_values_make_no_features_wherever_they_stand(values):
    document = {"id": "a", "text": "t", "n": {str(n): each for n, each in enumerate(values)}, "tags": values}
    found = decode(document, {"features": "n.*,tags", "missing": [-9999, "NaN", ""]}).features
    kept = [each for each in values if each not in {-9999, "NaN", "", None}]
    shown = {f"tags={str(each).lower() if each is True else each}" for each in kept}
    assert [*found.values()] == [1.0] * len(shown) + kept
    assert {name for name in found if name.startswith("tags")} == shown


TIMED = {"features": "n", "timestamp": "at", "label": "y"}


def test_predictions_outcomes_and_timeouts_use_the_mapped_time():
    feed = Feed(events=TIMED, labels={"id": "id", "timestamp": "at"}, label_timeout_seconds=60)
    assert feed.output_of({"id": 1, "n": 1, "at": 7}, at_seconds=1000)["event_time_ms"] == 7000
    outcome = feed.output_of({"id": 1, "label": True, "at": "1970-01-01T00:00:10Z"}, topic="labels")
    assert outcome["label_delay_seconds"] == 3
    feed({"id": 2, "n": 1, "at": 10}, at_seconds=500)
    feed({"id": 3, "at": 1000})  # cannot be decoded, so it does not advance the time
    assert "2" in feed.processor.join.examples
    feed({"id": 4, "n": 1, "at": 71}, at_seconds=500)
    assert [*feed.processor.join.examples] == ["4"]


@pytest.mark.parametrize(
    ("at", "what"),
    [(10**400, "ahead"), (-(10**400), "before 1970"), (-5, "before 1970"), (10_000, "ahead")],
    ids=["+", "-", "negative", "future"],
)
def test_mapped_time_out_of_range_is_rejected_by_path(at, what):
    feed = Feed(events=TIMED, max_event_time_ahead_seconds=60)
    (letter,) = feed({"id": 1, "n": 1, "at": at}, processing_time_ms=1_000_000)
    headers = dict(letter.headers)
    assert headers["error.reason"] == b"event_time_out_of_range"
    assert headers["error.message"].startswith(b"at (events.timestamp), ")
    assert what in headers["error.message"].decode()
