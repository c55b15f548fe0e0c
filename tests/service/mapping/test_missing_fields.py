"""A path that no record has is reported once: after a thousand records, or at the end."""

import pytest

from service.mapping import mapper as mappers
from service.mapping.mapper import EventMapper
from service.messages.json_values import read_json
from service.messages.labels import Vocabulary
from service.settings.mapping import EventSettings

MAPPED = {
    "features": ["amont", "card.limit", "rest.*"],
    "vectors": ["embeding"],
    "text": ["subjet"],
    "exclude": ["labl", "user", "items.id", "items.ident"],
    "derive": [("part", "amount / totl"), ("more", "amount + 1")],
    "tenant": "shopp",
    "windows": [{"by": "user", "over": ["1h"], "of": {"pric": ["sum"], "more": ["max"]}}],
}
DOCUMENT = {"id": "a", "amount": 1.0, "card": {"limit": 7}, "rest": {}, "user": "u"}
DOCUMENT["items"] = [{"id": None}, {"id": 7}]
ORIGIN_HEADERS = {
    "features: amont",
    "vectors: embeding",
    "text: subjet",
    "exclude: labl",
    "exclude: items.ident",
    "derive: part",
    "windows: pric",
    "tenant: shopp",
}


@pytest.fixture
def mapper():
    return EventMapper(EventSettings(**MAPPED), Vocabulary(), read_json, 1000)


def told(caplog):
    return {each.removeprefix("events.").partition(": not found")[0] for each in caplog.messages}


def test_names_missing_in_a_thousand_records_are_reported_once(mapper, caplog):
    for _ in range(999):
        mapper.read(DOCUMENT, None, 100)
    assert not told(caplog)
    mapper.read(DOCUMENT, None, 100)
    assert told(caplog) == ORIGIN_HEADERS
    assert (
        "events.features: amont: not found in the first 1,000 records: check the spelling" in caplog.messages
    )


def test_name_found_in_one_record_is_not_reported(mapper, caplog):
    mapper.read(DOCUMENT | {"amont": 1, "totl": 0.5, "pric": 2}, None, 100)
    mappers.warn_of_missing_fields([mapper.missing_fields()])
    assert told(caplog) == ORIGIN_HEADERS - {"features: amont", "derive: part", "windows: pric"}


def test_path_across_a_list_is_not_called_misspelt(caplog):
    mapper = EventMapper(EventSettings(features=["items.id", "x"]), Vocabulary(), read_json, 1000)
    mapper.read(DOCUMENT | {"x": 1}, None, 100)
    mappers.warn_of_missing_fields([mapper.missing_fields()])
    assert caplog.messages == ["items.id: crosses a list: write [] after the list, as in items[].price"]


def test_name_found_in_any_partition_is_not_reported(mapper, caplog):
    other, idle = (EventMapper(EventSettings(**MAPPED), Vocabulary(), read_json, 1000) for _ in range(2))
    mapper.read(DOCUMENT, None, 100)
    other.read(DOCUMENT | {"amont": 1, "labl": True}, None, 100)
    mappers.warn_of_missing_fields(each.missing_fields() for each in (mapper, other, idle))
    assert told(caplog) == ORIGIN_HEADERS - {"features: amont", "exclude: labl"}
    assert "events.text: subjet: not found in the first 2 records: check the spelling" in caplog.messages
