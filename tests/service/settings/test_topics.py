import pytest

from service.errors import ConfigurationError, TopicMissing
from service.settings.topics import ensure_topics, input_topics
from tests.service.building import settings

OTHERS = ("labels", "predictions", "dead-letters", "checkpoints")


def test_without_a_labels_topic_only_events_are_read():
    assert input_topics(settings()) == ("events", "labels")
    assert input_topics(settings(labels_topic="")) == ("events",)


@pytest.mark.parametrize(
    ("there", "given", "count"),
    [
        ({}, {"partitions": 3}, 3),
        ({"events": 5}, {"partitions": 3}, 5),
        ({"events": 3, **dict.fromkeys(OTHERS, 2)}, {}, 3),
    ],
)
def test_created_topics_have_the_partitions_of_events_or_settings(stream, there, given, count):
    stream.ensure_topics(there)
    assert ensure_topics(stream, settings(**given)) == count
    assert [stream.partition_count(topic) for topic in ("events", *OTHERS)] == [count] * 5


@pytest.mark.parametrize(
    ("given", "is_said"), [({"partitions": 3}, True), ({"partitions": 5}, False), ({}, False)]
)
def test_ignored_number_of_partitions_gives_a_warning(stream, caplog, given, is_said):
    stream.ensure_topics({"events": 5})
    ensure_topics(stream, settings(**given))
    assert ("has no effect: topic 'events' exists and has 5" in caplog.text) is is_said


@pytest.mark.parametrize("missing", ["events", "labels", "predictions", "dead-letters", "checkpoints"])
def test_missing_topic_is_named_without_creation(stream, missing):
    stream.ensure_topics(dict.fromkeys({"events", *OTHERS} - {missing}, 1))
    with pytest.raises(TopicMissing, match=missing):
        ensure_topics(stream, settings(create_topics="none"))


@pytest.mark.parametrize(
    ("there", "given", "hint"),
    [
        (("payments", "events-eu"), {"events_topic": "paymnts"}, "did you mean payments? set events_topic"),
        (("events", "lables"), {}, "did you mean lables? set labels_topic (empty if"),
        (("predictions",), {"events_topic": "prediction"}, "set events_topic"),
        ((), {}, "--create-topics all"),
    ],
)
def test_missing_input_topic_is_an_error_with_similar_names(stream, there, given, hint):
    stream.ensure_topics(dict.fromkeys(there, 1))
    with pytest.raises(TopicMissing) as rejected:
        ensure_topics(stream, settings(create_topics="outputs", **given))
    assert hint in rejected.value.hint
    assert {*stream.topics()} == {*there}


def test_output_topics_are_created_by_default(stream):
    stream.ensure_topics({"events": 3, "labels": 1})
    assert ensure_topics(stream, settings(create_topics="outputs")) == 3
    assert [stream.partition_count(topic) for topic in ("events", *OTHERS)] == [3] * 5


@pytest.mark.parametrize("short", ["labels", "checkpoints"])
def test_topic_with_too_few_unchangeable_partitions_is_named(stream, short):
    stream.ensure_topics({"events": 3, **dict.fromkeys(OTHERS, 3), short: 2})
    with pytest.raises(ConfigurationError, match=f"'{short}' has 2 partitions, expected 3 as in 'events'"):
        ensure_topics(stream, settings(create_topics="none"))


@pytest.mark.parametrize("gone", ["predictions", "dead-letters"])
def test_missing_outputs_with_checkpoints_give_a_warning(stream, caplog, gone):
    stream.ensure_topics(dict.fromkeys({"events", *OTHERS} - {gone}, 1))
    ensure_topics(stream, settings())
    assert f"topic '{gone}' did not exist, although 'checkpoints' does" in caplog.text


def test_first_start_and_complete_topics_give_no_warning(stream, caplog):
    ensure_topics(stream, settings())
    ensure_topics(stream, settings())
    assert caplog.text == ""
