"""Numbers and times that are written as people do."""

import json

import pytest

from service.errors import ConfigurationError
from service.files.columns import Columns
from service.files.input_files import mapping_of
from service.files.sources import open_source
from service.mapping.mapper import EventMapper
from service.mapping.notation import Notation
from service.messages.json_values import read_json
from service.messages.labels import Vocabulary
from service.partition.factory import make_decoder, make_question_decoder
from service.settings.load import load_settings
from service.stream.protocol import Record
from tests.service.building import settings

GERMAN = {"decimal": ",", "time_format": "at=%d.%m.%Y %H:%M:%S"}
AT = 1769904103.0


def features(given, value):
    return make_decoder(settings(events=given)).decode(json.dumps(value).encode()).features


@pytest.mark.parametrize(
    ("given", "value", "expected"),
    [
        ({"decimal": ","}, {"a": "9,91", "b": "1.234,50", "c": "3DS"}, {"a": 9.91, "b": 1234.5, "c": "3DS"}),
        ({"decimal": "."}, {"a": "1,234.50", "b": "007"}, {"a": 1234.5, "b": "007"}),
        ({"decimal": ","}, {"a": " 5 ", "b": "1e5", "c": "1e400"}, {"a": 5, "b": 100000, "c": "1e400"}),
        ({"decimal": "a=,"}, {"a": "9,91", "b": "9,91"}, {"a": 9.91, "b": "9,91"}),
        ({"decimal": {"a": ",", "b": "."}}, {"a": "9,91", "b": "9.91"}, {"a": 9.91, "b": 9.91}),
        ({"time_format": "%d.%m.%Y"}, {"a": "01.02.2026", "b": "soon"}, {"a": 1769904000.0, "b": "soon"}),
        ({"time_format": "a=%Y-%m-%d %H:%M%z"}, {"a": "2026-02-01 01:00+01:00"}, {"a": 1769904000.0}),
    ],
)
@pytest.mark.parametrize("mapped", [False, True])
def test_texts_become_numbers_by_their_notation(given, value, expected, mapped):
    if mapped:
        assert features(given | {"features": "*"}, {"id": "e"} | value) == expected
    else:
        assert features(given, {"id": "e", "features": value}) == expected


def test_ids_texts_labels_and_tenants_are_unchanged():
    given = settings(
        classes=("1,0", "2,0"),
        events=GERMAN | {"features": "*", "text": "t", "label": "y", "tenant": "who"},
        model="normalized-adagrad",
    )
    found = make_decoder(given).decode(b'{"id": "1,5", "t": "2,5", "y": "2,0", "who": "3,5", "n": "4,5"}')
    assert (found.id, found.text, found.label, found.tenant) == ("1,5", "2,5", "2,0", "3,5")
    assert found.features == {"n": 4.5}


def test_event_times_and_derived_features_read_the_same():
    given = {"features": "n", "timestamp": "at", "derive": {"h": "hour(at)", "m": "n * 2"}} | GERMAN
    value = {"id": "e", "n": "1,5", "at": "01.02.2026 00:01:43"}
    found = make_decoder(settings(events=given)).decode(json.dumps(value).encode())
    assert found.timestamp_ms == int(AT * 1000)
    assert found.features == {"n": 1.5, "h": 0, "m": 3.0}


def test_labels_may_have_another_time_format():
    given = {"id": "payment", "timestamp": "at", "time_format": "%d.%m.%Y %H:%M:%S"}
    record = Record("labels", 0, 0, 0, None, b'{"payment": "1,5", "at": "01.02.2026 00:01:43", "label": 1}')
    found = make_decoder(settings(labels=given)).decode(record.value, record)
    assert (found.id, found.label, found.timestamp_ms) == ("1,5", True, int(AT * 1000))


def test_prediction_request_is_read_like_a_topic_event():
    decoder = make_question_decoder(settings(events={"decimal": ","}))
    assert decoder.decode(b'{"id": "e", "features": {"a": "9,91"}}').features == {"a": 9.91}


def rows(tmp_path, text, **events):
    path, warned = tmp_path / "a.csv", []
    path.write_text(text, encoding="utf-8")
    table = settings(events=events).events
    columns = Columns(
        mapping=mapping_of(table), notation=Notation.of(table), warn=lambda *each: warned.append(each)
    )
    with open_source(str(path), columns=columns) as source:
        return [json.loads(row) for row in source], warned


@pytest.mark.parametrize("mapped", [False, True])
def test_cells_are_read_as_written(tmp_path, mapped):
    text = 'amount,at,label\n"1.234",01.02.2026 00:01:43,1\n"9,91",01.02.2026 00:01:43,0\n'
    found, warned = rows(tmp_path, text, **GERMAN | ({"features": "*", "label": "label"} if mapped else {}))
    assert [(each if mapped else each["features"])["amount"] for each in found] == [1234, 9.91]
    assert {(each if mapped else each["features"])["at"] for each in found} == {AT}
    assert warned == []


TEXTS = [
    (["9,91"], "numbers as strings", "events.decimal, such as --events-decimal a=,"),
    (["1,234.50"], "numbers as strings", "--events-decimal a=."),
    ([1, 2, 3, "9,91"], "numbers as strings", "--events-decimal a=,"),
    (["01.02.2026 00:01:43"], "times as strings", "--events-time-format a='%d.%m.%Y %H:%M:%S'"),
    (["2026-02-01T00:01:43Z"], "times as strings", "a=%Y-%m-%dT%H:%M:%S%z"),
    ([1, 2, 3, "abc"], "strings among its numbers", "list it in events.missing"),
]


@pytest.mark.parametrize(("cells", "warning", "hint"), TEXTS)
def test_ambiguous_cells_give_a_warning(tmp_path, cells, warning, hint):
    text = "\n".join(["a,b", *(f'"{cell}",x' for cell in cells), f'"{cells[-1]}",x\n'])
    _, ((found, how),) = rows(tmp_path, text)
    assert f"the column 'a' has {warning}: " in found
    assert hint in how


@pytest.mark.parametrize(
    ("values", "warning", "hint"),
    [
        *TEXTS,
        (["21.66"], "numbers as strings", "--events-decimal a=."),
        ([1, 2, 3, "250"], "numbers as strings", "--events-decimal a=."),
        ([*range(300), *["abc"] * 64], "strings among its numbers", "list it in events.missing"),
    ],
)
def test_number_like_mapped_texts_give_a_warning(caplog, values, warning, hint):
    mapper = EventMapper(settings(events={"features": "a"}).events, Vocabulary(), read_json, 1000)
    for value in [*values, values[-1]]:
        mapper.read({"id": "x", "a": value}, None, 10)
    (record,) = caplog.records
    assert f"the feature 'a' has {warning}: " in record.getMessage()
    assert hint in record.getMessage()
    assert values[-1] not in record.getMessage()  # logs have no features


def test_ambiguous_notation_gives_one_warning_for_all_partitions(caplog):
    for text in ("9,91", "8,50"):
        mapper = EventMapper(settings(events={"features": "a"}).events, Vocabulary(), read_json, 1000)
        mapper.read({"id": "x", "a": text}, None, 10)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("events", [{"features": "b"}, {"missing": "9,91"}])
def test_text_that_is_not_a_feature_gives_no_warning(caplog, events):
    mapper = EventMapper(settings(events={"features": "*"} | events).events, Vocabulary(), read_json, 1000)
    mapper.read({"id": "x", "a": "9", "b": "3DS", "c": "007"}, None, 10)
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("decimal", ";", "events.decimal"),
        ("time_format", "at=soon", "expected a directive"),
        ("time_format", "%Q", "expected a strptime format"),
        ("time_format", "%m.%m.%Y", "expected a strptime format"),
    ],
)
def test_invalid_notation_setting_is_rejected(name, value, why):
    with pytest.raises(ConfigurationError, match=why):
        load_settings({f"events.{name}": value})
