"""Documents of any shape become events and labels that the own schema would take, or are refused by path."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.mapping.mapper import EventMapper, LabelMapper
from service.messages.decoder import Decoder
from service.messages.labels import Vocabulary
from service.messages.rejection import Reason, Rejection
from service.settings.mapping import EventSettings, LabelSettings

LARGE = 1 << 20
CLASSES = ("no", "yes")


def event(document, classes=(), **mapping):
    return EventMapper(EventSettings(**mapping), Vocabulary(classes), LARGE).read(document, None, 100)


def label(document, classes=(), **mapping):
    return LabelMapper(LabelSettings(**mapping), Vocabulary(classes)).read(document, None, 100)


def refusal(read, document, **mapping):
    with pytest.raises(Rejection) as refused:
        read(document, **mapping)
    return refused.value


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
def test_the_own_schema_as_a_mapping_reads_the_same(fields):
    value = json.dumps(fields).encode()
    own = Decoder(Vocabulary(CLASSES), LARGE).decode(value)
    mapper = EventMapper(EventSettings(unknown_fields="ignore"), Vocabulary(CLASSES), LARGE)
    mapped = mapper.read(json.loads(value), None, len(value))
    own.features = own.features or {}
    assert mapped == own
    assert [*map(type, mapped.features.values())] == [*map(type, own.features.values())]


@given(st.text(min_size=1), st.sampled_from([True, 0, -1, "yes"]))
def test_a_label_of_the_own_schema_as_a_mapping_reads_the_same(event_id, value):
    message = json.dumps({"id": event_id, "label": value}).encode()
    own = Decoder(Vocabulary(CLASSES), LARGE).decode(message)
    mapper = LabelMapper(LabelSettings(unknown_fields="ignore"), Vocabulary(CLASSES))
    assert mapper.read(json.loads(message), None, len(message)) == own


SIX_RECORDS = {
    "flat JSON": {"id": "a", "amount": 5.5, "country": "de"},
    "an integer id": {"id": 17, "amount": 5.5},
    "an extra field": {"id": "a", "amount": 5.5, "session": "x"},
    "a null": {"id": "a", "amount": None, "country": "de"},
    "a nested object": {"id": "a", "card": {"country": "de", "amount": 5.5}},
    "a list": {"id": "a", "tags": ["new", "web"]},
}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("flat JSON", {"amount": 5.5, "country": "de"}),
        ("an integer id", {"amount": 5.5}),
        ("an extra field", {"amount": 5.5, "session": "x"}),
        ("a null", {"country": "de"}),
        ("a nested object", {"card.country": "de", "card.amount": 5.5}),
        ("a list", {"tags=new": 1.0, "tags=web": 1.0}),
    ],
)
def test_an_ordinary_record_is_an_event(record, expected):
    read = event(SIX_RECORDS[record], features="*")
    assert (read.id, read.features) == (str(SIX_RECORDS[record]["id"]), expected)


@pytest.mark.parametrize("record", SIX_RECORDS)
def test_an_ordinary_record_is_refused_without_a_mapping(record):
    with pytest.raises(Rejection):
        Decoder(Vocabulary(), LARGE).decode(json.dumps(SIX_RECORDS[record]).encode())


def test_texts_are_joined_by_a_newline_and_missing_ones_left_out():
    document = {"id": "a", "mail": {"subject": "Hi", "body": "there", "footer": None}}
    read = event(document, text=["mail.subject", "mail.greeting", "mail.footer", "mail.body"])
    assert read.text == "Hi\nthere"


def test_a_list_of_texts_is_a_text_each():
    assert event({"id": "a", "parts": [{"t": "x"}, {"t": "y"}]}, text="parts[].t").text == "x\ny"


def test_a_number_can_be_a_text():
    assert event({"id": "a", "title": 1984}, text="title").text == "1984"


def test_an_object_is_no_text():
    found = refusal(event, {"id": "a", "body": {"html": "x"}}, text="body")
    assert (found.reason, found.message) == (
        Reason.INVALID_TYPE,
        "body (events.text): expected text or a list of texts",
    )


def test_a_label_may_be_a_comparison():
    mapping = {"label": "status == 'chargeback'", "features": "amount"}
    assert event({"id": "a", "amount": 1, "status": "chargeback"}, **mapping).truth is True
    assert event({"id": "a", "amount": 1, "status": "settled"}, **mapping).truth is False


@pytest.mark.parametrize("document", [{"id": "a", "x": 1}, {"id": "a", "x": 1, "verdict": None}])
def test_an_event_whose_label_is_missing_or_null_has_none(document):
    read = event(document, label="verdict", features="x")
    assert (read.label, read.truth, read.is_label) == (None, None, False)


def test_a_class_name_in_a_field_is_a_label():
    assert event(
        {"id": 1, "x": 1, "review": {"spam": "yes"}}, CLASSES, label="review.spam", features="x"
    ).truth


def test_a_value_that_is_no_label_is_refused_by_its_path():
    found = refusal(event, {"id": 1, "x": 1, "verdict": "maybe"}, label="verdict", features="x")
    assert found.reason is Reason.UNKNOWN_LABEL
    assert found.message.startswith("verdict (events.label): label 'maybe' is none of")


@pytest.mark.parametrize(
    "document", [{"id": 7, "status": "paid", "at": 1700000000, "body": "x", "amount": 5, "secret": 1}]
)
def test_everything_is_all_but_what_other_settings_use(document):
    read = event(
        document, label="status == 'paid'", timestamp="at", text="body", exclude="secret", features="*"
    )
    assert read.features == {"amount": 5.0}


def test_the_label_is_no_feature_of_an_object_that_holds_it():
    document = {"id": 1, "order": {"status": "paid", "total": 5}}
    assert event(document, label="order.status == 'paid'", features="order").features == {"order.total": 5.0}


def test_a_field_that_is_a_label_and_named_as_a_feature_is_both():
    read = event({"id": 1, "amount": 50}, label="amount > `10`", features="amount")
    assert (read.truth, read.features) == (True, {"amount": 50.0})


@pytest.mark.parametrize(
    ("document", "mapping", "reason", "message"),
    [
        ({"x": 1}, {"features": "x"}, Reason.MISSING_FIELD, "id (events.id): there is none"),
        ({"m": {}}, {"id": "m.uuid"}, Reason.MISSING_FIELD, "m.uuid (events.id): there is none"),
        ({"id": 1.5, "x": 1}, {"features": "x"}, Reason.INVALID_ID, "id (events.id): "),
        ({"id": "", "x": 1}, {"features": "x"}, Reason.INVALID_ID, "id (events.id): "),
        ({"id": "i" * 257, "x": 1}, {"features": "x"}, Reason.INVALID_ID, "id (events.id): "),
        ({"id": 1, "a": {"x": 1e101}}, {"features": "a.x"}, Reason.OUT_OF_RANGE, "a.x: "),
        ({"id": 1, "a": {"x": 10**101}}, {"features": "a.*"}, Reason.OUT_OF_RANGE, "a.x: "),
        ({"id": 1, "x": float("nan")}, {"features": "*"}, Reason.NOT_FINITE, "x: "),
        ({"id": 1, "x": b"bytes"}, {"features": "*"}, Reason.INVALID_TYPE, "x: "),
        (
            {"id": 1, "x": 1, "v": [1]},
            {"features": "x", "label": "v"},
            Reason.INVALID_TYPE,
            "v (events.label)",
        ),
        (
            {"id": 1, "y": 1},
            {"features": "x"},
            Reason.MISSING_FIELD,
            "text, x (events.text, events.features)",
        ),
        ({"id": 1, "x": 1}, {"features": "length(x)"}, Reason.INVALID_TYPE, "length(x): "),
        (
            {"id": 1, "x": 1},
            {"features": "x", "timestamp": "at"},
            Reason.MISSING_FIELD,
            "at (events.timestamp): there is none",
        ),
        (
            {"id": 1, "x": 1, "at": "soon"},
            {"features": "x", "timestamp": "at"},
            Reason.INVALID_TYPE,
            "at (events.timestamp): 'soon' cannot be read as ISO 8601 (hours 00 to 23, seconds 00 to 59)",
        ),
        (
            {"id": 1, "a": {"x": 1, "y": 2}},
            {"features": "a.x", "unknown_fields": "refuse"},
            Reason.UNKNOWN_FIELD,
            "a.y: no setting uses this field",
        ),
    ],
)
def test_what_cannot_be_mapped_is_refused_by_its_path(document, mapping, reason, message):
    found = refusal(event, document, **mapping)
    assert found.reason is reason
    assert found.message.startswith(message)


@pytest.mark.parametrize("features", ["{amount: to_number(x)}", "*"])
def test_a_bare_label_is_no_event(features):
    found = refusal(event, {"id": "a", "label": True, "x": None}, features=features)
    assert (found.reason, "bare labels have their own topic" in found.message) == (Reason.MISSING_FIELD, True)


def test_fields_of_expressions_are_known_where_others_are_refused():
    read = event(
        {"id": 1, "items": [{"n": 1}], "status": "paid"},
        features="length(items)",
        label="status == 'paid'",
        unknown_fields="refuse",
    )
    assert read.features == {"length(items)": 1.0}


def test_the_event_time_is_the_one_in_the_document():
    read = event({"id": 1, "x": 1, "at": "1970-01-01T00:00:02Z"}, features="x", timestamp="at")
    assert read.timestamp_ms == 2000


def test_a_label_has_id_label_and_time():
    read = label({"ref": 7, "at": 3, "verdict": True}, id="ref", label="verdict", timestamp="at")
    assert (read.id, read.truth, read.timestamp_ms, read.is_label) == ("7", True, 3000, True)


@pytest.mark.parametrize("document", [{"id": 1}, {"id": 1, "label": None}])
def test_a_label_without_a_value_is_refused(document):
    found = refusal(label, document, id="id")
    assert (found.reason, found.message) == (Reason.MISSING_FIELD, "label (labels.label): there is none")


def test_a_text_is_the_whole_value():
    assert event("win a prize", format="text", id="@key").text == "win a prize"


def test_a_label_that_is_text_is_the_whole_value():
    assert label("yes", CLASSES, format="text", id="@key").truth is True


def test_an_event_that_is_asked_about_needs_no_label_and_no_time():
    settings = EventSettings(label="verdict", timestamp="at", features="*")
    mapper = EventMapper(settings, Vocabulary(), LARGE, asks_only=True)
    read = mapper.read({"id": 1, "x": 5, "verdict": "unheard of", "at": "soon"}, None, 10)
    assert (read.label, read.timestamp_ms, read.features) == (None, None, {"x": 5.0})


@pytest.mark.parametrize(
    ("text", "truth"), [("true", True), ("false", False), ("1", True), ("-1", False), ("0", False)]
)
@pytest.mark.parametrize("classes", [(), CLASSES])
def test_a_label_that_is_text_may_be_any_label_value(text, truth, classes):
    assert label(text, classes, format="text", id="@key").truth is truth


def test_a_label_that_is_text_is_none_but_a_name_where_there_are_several_classes():
    found = refusal(label, "true", classes=("a", "b", "c"), format="text", id="@key")
    assert found.reason is Reason.UNKNOWN_LABEL


def test_a_label_that_is_text_keeps_the_spelling_of_its_stream():
    assert label("-1", format="text", id="@key").label == -1


def test_a_text_in_json_is_no_boolean():
    assert refusal(label, {"id": "a", "label": "true"}, id="id").reason is Reason.UNKNOWN_LABEL


NOT_FINITE = [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("number", NOT_FINITE)
@pytest.mark.parametrize("setting", ["text", "tenant"])
def test_a_number_that_is_not_finite_is_no_text_and_no_tenant(setting, number):
    found = refusal(event, {"id": "a", "x": 1, "a": {"b": number}}, features="x", **{setting: "a.b"})
    message = f"a.b (events.{setting}): expected a finite number"
    assert (found.reason, found.message) == (Reason.NOT_FINITE, message)


@pytest.mark.parametrize("number", NOT_FINITE)
def test_a_number_that_is_not_finite_is_no_category(number):
    found = refusal(event, {"id": "a", "tags": ["x", number]}, features="*")
    assert (found.reason, found.message) == (Reason.NOT_FINITE, "tags: expected a finite number")


@pytest.mark.parametrize("value", [True, False, "", [], {}])
def test_a_tenant_is_a_text_that_is_not_empty_or_a_number(value):
    found = refusal(event, {"id": "a", "x": 1, "who": value}, features="x", tenant="who")
    assert (found.reason, found.message[:21]) == (Reason.INVALID_TYPE, "who (events.tenant): ")


@pytest.mark.parametrize("value", [5, 5.0, "5"])
def test_a_number_names_the_same_tenant_however_it_is_written(value):
    assert event({"id": "a", "x": 1, "who": value}, features="x", tenant="who").tenant == "5"


def test_a_missing_tenant_is_none():
    assert event({"id": "a", "x": 1, "who": None}, features="x", tenant="who").tenant is None


@given(st.lists(st.sampled_from([-9999, -9999.0, "NaN", "", 0, True, "x", None, 2.5]), max_size=4))
def test_missing_values_make_no_features_wherever_they_stand(values):
    document = {"id": "a", "text": "t", "n": {str(n): each for n, each in enumerate(values)}, "tags": values}
    found = event(document, features="n.*,tags", missing=[-9999, "NaN", ""]).features
    kept = [each for each in values if each not in {-9999, "NaN", "", None}]
    shown = {f"tags={str(each).lower() if each is True else each}" for each in kept}
    assert [*found.values()] == [1.0] * len(shown) + kept
    assert {name for name in found if name.startswith("tags")} == shown


def test_a_number_that_is_none_is_missing_where_its_name_is():
    document = {"id": "a", "n": float("nan"), "m": 1}
    assert event(document, features="n,m", missing="NaN").features == {"m": 1}
    assert refusal(event, document, features="n,m").reason is Reason.NOT_FINITE


def test_of_html_the_text_is_what_a_reader_sees():
    found = event({"id": "a", "body": "<p>a<b>b</b></p>c", "s": "d<br>e"}, text="s,body", text_format="html")
    assert found.text == "d e\nab c"
