"""Laws of the audit: what the service does is always proved; whatever one change makes of it is refuted."""

import json
from contextlib import closing

import pytest
from hypothesis import HealthCheck, assume, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from service.partitioner import partition_for_key
from service.settings.mapping import EventSettings
from service.stream import Output
from service.transport.topics import input_topics
from tests.service.audit.audited_stream import Audited
from tests.service.building import event, label
from tests.support.example_counts import n_examples

PARTITIONS = 2
LAW = hypothesis_settings(
    max_examples=n_examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

ids = st.sampled_from([f"e{n}" for n in range(8)])
truths = st.booleans()
messages = st.one_of(
    st.builds(event, ids, st.sampled_from(["win", "lose"]), st.sampled_from([None, None, True, False])),
    st.builds(label, ids, truths),
    st.sampled_from([b"junk", b"", b'{"id":"e1"}', b'{"id":"e1","label":"no"}']),
)
TIMES_OUT = {"events": EventSettings(label_on_timeout="false")}
on_timeout = st.sampled_from([{}, TIMES_OUT])
logs = st.lists(st.tuples(st.integers(0, 5), messages), min_size=1, max_size=30)


def run(log, *, apart, keys=(), **given):
    """Let the service process a log; its records are keyed by their ids unless other keys are given."""
    stream = Audited(labels_topic="labels" if apart else "", partitions=PARTITIONS, **given)
    stream.transport.ensure_topics(dict.fromkeys(input_topics(stream.settings), PARTITIONS))
    return more(stream, log, keys=keys)


def more(stream, log, now=1000, keys=()):
    """Let the service process further records; their times are about in order."""
    topics, outputs = input_topics(stream.settings), []
    for step, message in log:
        now += step
        is_label = isinstance(message, dict) and "text" not in message
        value = json.dumps(message).encode() if isinstance(message, dict) else message
        key = message["id"].encode() if isinstance(message, dict) else b"bad"
        key = keys[len(outputs) % len(keys)] if keys else key
        outputs.append(Output(topics[-1] if is_label else "events", key, value, (), None, now * 1000))
    stream.transport.produce(outputs)
    return stream.run()


def at_once(*messages):
    return [(0, message) for message in messages]


E0, E1, NO, YES = event("e0", "win"), event("e1", "lose"), label("e0", False), label("e0", True)


@example(at_once(E0, E1, E0, NO), False, 2, 1, 500, {}).via(
    "an id twice, the first event let go without a label"
)
@example(at_once(E0, NO, E1, E0), False, 2, 1, 500, {}).via("the first event let go with a label")
@example(at_once(E0, NO, E1, E0, YES, E1, E0, NO), False, 2, 1, 500, {}).via("several cases of one id")
@example(at_once(E0, NO, E1, E0, YES, E1, E0, NO), False, 2, 1, 1, {}).via("predictions read close behind")
@example(at_once(E0, E1, E0, NO), True, 2, 1, 1, {}).via("labels apart")
@example([(0, E0), (3, E1), (3, NO), (5, E0)], False, 2, 9, 1, TIMES_OUT).via("timed out, then labelled")
@LAW
@given(
    logs,
    st.booleans(),
    st.sampled_from([2, 10, 1e6]),
    st.sampled_from([1, 2, 3, 50_000]),
    st.sampled_from([1, 2, 7, 500]),
    on_timeout,
)
def test_what_the_service_does_is_always_proved(
    no_patience, log, apart, timeout_seconds, max_pending, chunk, on_timeout
):
    given = {"label_timeout_seconds": timeout_seconds, "max_pending": max_pending, **on_timeout}
    with pytest.MonkeyPatch.context() as patch, closing(run(log, apart=apart, **given)) as stream:
        patch.setattr("service.audit.auditor._CHUNK", chunk)
        report = stream.audit()
    assert report.is_proved, report
    assert report.records == len(log)
    if not apart:
        assert report.notes == []


@LAW
@given(logs, st.booleans(), st.lists(st.sampled_from([b"0", b"1"]), min_size=1), st.sampled_from([1, 500]))
def test_an_id_in_several_partitions_is_no_contradiction(no_patience, log, apart, keys, chunk):
    with pytest.MonkeyPatch.context() as patch, closing(run(log, apart=apart, keys=keys)) as stream:
        patch.setattr("service.audit.auditor._CHUNK", chunk)
        report = stream.audit()
    assert report.is_proved, report
    assert report.records == len(log)


@LAW
@given(logs, logs, st.booleans(), st.sampled_from([1, 2, 500]), st.sampled_from([2, 1e6]), on_timeout)
def test_a_model_that_begins_anew_on_the_way_is_no_contradiction(
    no_patience, log, rest, apart, chunk, timeout_seconds, on_timeout
):
    given = {"label_timeout_seconds": timeout_seconds, **on_timeout} if on_timeout else {}
    with pytest.MonkeyPatch.context() as patch, closing(run(log, apart=apart, **given)) as stream:
        patch.setattr("service.audit.auditor._CHUNK", chunk)
        more(stream.begin_anew(), rest, now=1100)
        report = stream.audit()
    assert report.is_proved, report


@LAW
@given(logs, logs, st.booleans(), st.sampled_from([2, 1e6]), st.sampled_from([1, 500]), on_timeout, st.data())
def test_whatever_is_deleted_from_the_beginning_on_is_no_contradiction(
    no_patience, log, rest, apart, timeout_seconds, chunk, on_timeout, data
):
    given = {"label_timeout_seconds": timeout_seconds, **on_timeout}
    with pytest.MonkeyPatch.context() as patch, closing(run(log, apart=apart, **given)) as stream:
        patch.setattr("service.audit.auditor._CHUNK", chunk)
        more(stream, rest, now=1100)
        for topic in (*input_topics(stream.settings), "predictions"):
            for partition in range(PARTITIONS):
                end = stream.transport.bounds(topic, partition)[1]
                stream.transport.delete_before(topic, partition, data.draw(st.integers(0, end)))
        report = stream.audit()
    assert report.is_proved, report


def one_less(records, draw):
    assume(records)
    at = draw(st.integers(0, len(records) - 1))
    return records[:at] + records[at + 1 :]


def one_twice(records, draw):
    assume(records)
    again = draw(st.sampled_from(records))
    at = draw(st.integers(0, len(records)))
    return [*records[:at], again, *records[at:]]


def two_swapped(records, draw):
    predictions = [n for n, record in enumerate(records) if b'"score"' in record.value]
    pairs = [
        (one, other)
        for one in predictions
        for other in predictions
        if one < other and records[one].key != records[other].key
    ]
    assume(pairs)
    one, other = draw(st.sampled_from(pairs))
    swapped = list(records)
    swapped[one], swapped[other] = records[other], records[one]
    return swapped


def other_field(records, draw):
    """Change one thing that one record says.

    Not the truth of an event told again: whether a correction counts depends on the model, of which the audit
    knows nothing.
    """
    places = [
        (n, name)
        for n, record in enumerate(records)
        for name in ("id", "truth", "mistake", "predicted", "label_delay_seconds")
        if name in json.loads(record.value) and not (name == "truth" and is_told_again(records, n))
    ]
    assume(places)
    at, name = draw(st.sampled_from(places))
    fields = json.loads(records[at].value)
    fields[name] = changed_value(fields[name])
    if name == "truth":
        fields["mistake"] = not fields["mistake"]  # or else it would contradict itself
    return [*records[:at], records[at]._replace(value=json.dumps(fields).encode()), *records[at + 1 :]]


def is_told_again(records, at):
    """Return whether a record is a prediction, and not the first of its id."""
    ids = [json.loads(each.value)["id"] for each in records[: at + 1] if b'"score"' in each.value]
    return b'"score"' in records[at].value and ids.count(ids[-1]) > 1


def changed_value(value):
    return not value if isinstance(value, bool) else value + ("x" if isinstance(value, str) else 1)


def other_key(records, draw):
    assume(records)
    at = draw(st.integers(0, len(records) - 1))
    return [*records[:at], records[at]._replace(key=b"other"), *records[at + 1 :]]


def other_bytes(records, draw):
    assume(records)
    at = draw(st.integers(0, len(records) - 1))
    value = (records[at].value or b"") + b" "
    return [*records[:at], records[at]._replace(value=value), *records[at + 1 :]]


def other_header(records, draw):
    assume(records)
    at = draw(st.integers(0, len(records) - 1))
    name = draw(st.sampled_from(["error.reason", "source.topic", "source.partition", "source.offset"]))
    headers = tuple((n, b"7" if n == name else value) for n, value in records[at].headers)
    assume(headers != records[at].headers)
    return [*records[:at], records[at]._replace(headers=headers), *records[at + 1 :]]


def one_batch_less(records, draw):
    batches = [n for n, record in enumerate(records) if ("kind", b"progress") in record.headers]
    assume(batches)
    at = draw(st.sampled_from(batches))
    return records[:at] + records[at + 1 :]


def other_entry(records, draw, *entries):
    """Change one entry of one of the tables of a progress record."""
    batches = [n for n, record in enumerate(records) if ("kind", b"progress") in record.headers]
    assume(batches)
    at, (table, name) = draw(st.sampled_from(batches)), draw(st.sampled_from(entries))
    fields = json.loads(records[at].value)
    fields[table][name] = fields[table].get(name, 0) + draw(st.sampled_from([-1, 1]))
    return [*records[:at], records[at]._replace(value=json.dumps(fields).encode()), *records[at + 1 :]]


def other_consumed(records, draw):
    return other_entry(records, draw, ("consumed", "events"))


def other_labelled(records, draw):
    return other_entry(records, draw, ("counts", "labelled"), ("counts", "mistakes"))


def outcome_moved(records, draw):
    """Move an outcome past a prediction."""
    places = [(n, to) for n in range(len(records)) for to in range(len(records))]
    moves = [(n, to) for n, to in places if b'"predicted"' in records[n].value and passes(records, n, to)]
    assume(moves)
    at, to = draw(st.sampled_from(moves))
    rest = [*records[:at], *records[at + 1 :]]
    return [*rest[:to], records[at], *rest[to:]]


def passes(records, at, to):
    passed = records[to:at] if to < at else records[at + 1 : to + 1]
    return any(b'"score"' in record.value for record in passed)


CHANGES = {
    "predictions": (one_less, one_twice, two_swapped, other_field, other_key),
    "dead-letters": (one_less, one_twice, other_bytes, other_header),
    "checkpoints": (one_batch_less, other_consumed),
}
changes = st.sampled_from([(topic, change) for topic, made in CHANGES.items() for change in made])


limits = st.fixed_dictionaries(
    {"label_timeout_seconds": st.sampled_from([2, 10, 1e6]), "max_pending": st.sampled_from([1, 2, 50_000])}
)


@LAW
@given(logs, st.booleans(), limits, changes, st.integers(0, PARTITIONS - 1), on_timeout, st.data())
def test_whatever_one_change_makes_of_it_is_refuted(
    no_patience, log, apart, limits, change, partition, on_timeout, data
):
    topic, make = change
    given = ({"label_timeout_seconds": 1e6} if apart else limits) | on_timeout
    with closing(run(log, apart=apart, **given)) as stream:
        changed = stream.changed(topic, lambda records: make(records, data.draw), partition)
        with closing(changed):
            report = changed.audit()
    assert not report.is_proved, report


PARTITION = partition_for_key(b"e0", PARTITIONS)
BESIDE_E0 = event(
    next(n for n in map(str, range(9)) if partition_for_key(n.encode(), PARTITIONS) == PARTITION)
)


@LAW
@given(
    logs,
    limits,
    st.sampled_from([("predictions", outcome_moved), ("checkpoints", other_labelled)]),
    on_timeout,
    st.data(),
)
def test_with_labels_among_events_an_outcome_moved_or_a_count_of_labels_changed_is_refuted(
    no_patience, log, limits, change, on_timeout, data
):
    topic, make = change
    log = [*at_once(E0, NO, BESIDE_E0), *log]
    with closing(run(log, apart=False, **limits, **on_timeout)) as stream:
        changed = stream.changed(topic, lambda records: make(records, data.draw), PARTITION)
        with closing(changed):
            report = changed.audit()
    assert not report.is_proved, report
