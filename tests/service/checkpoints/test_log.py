import ast
import contextlib
import hashlib
import inspect
import json
import re

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from perceptron_core import DamagedError
from perceptron_core.formats.packed import pack, seal
from service.checkpoints.log import Address, Progress, progress_record, read_log, snapshot_records
from service.checkpoints.snapshot import LOG_VERSION, Snapshot, from_chunks, to_chunks
from service.errors import CheckpointError, NewerRelease
from service.loop.restore import restore
from service.partition import forms
from service.stream.opening import open_transport
from service.stream.protocol import Output, Record
from tests.service.building import settings
from tests.support.example_counts import n_examples

ADDRESS = Address("checkpoints", 2, "g")
FORMS = "\n".join(map(inspect.getsource, (forms, forms.Counters, forms.Calibration, forms.ScoreBins)))
SNAPSHOT = Snapshot(4, {("events", 0): 9}, {"model": "perceptron"}, {"model": b"m", "counters": {}}, {})


def stored(*outputs):
    return [
        Record(o.topic, o.partition, offset, 5, o.key, o.value, o.headers) for offset, o in enumerate(outputs)
    ]


def progress(sequence):
    return progress_record(
        Progress(sequence, {("events", 0): sequence}, {"mistakes": sequence}, {"events": sequence}, 1),
        ADDRESS,
    )


@given(st.integers(0, 3_000_000))
def test_snapshot_is_cut_into_chunks_below_any_broker_limit(size):
    snapshot = SNAPSHOT._replace(state={"model": b"x" * size})
    chunks = to_chunks(snapshot)
    assert max(map(len, chunks)) <= 600_000
    assert from_chunks(chunks) == snapshot


def test_snapshot_without_its_last_chunks_is_ignored():
    large = SNAPSHOT._replace(state={"model": b"x" * 1_200_000})
    first, second, third = snapshot_records(large, ADDRESS)
    records = [progress(4), first, progress(5), second, progress(6)]
    assert read_log(stored(*records), "g").snapshots == []
    assert [each.read() for each in read_log(stored(*records, third), "g").snapshots] == [large]
    (found,) = read_log(stored(*records, *snapshot_records(SNAPSHOT, ADDRESS)), "g").snapshots
    assert found.read() == SNAPSHOT


def test_snapshot_needs_the_log_from_its_batch_onwards():
    records = [progress(3), progress(4), progress(5), *snapshot_records(SNAPSHOT, ADDRESS)]
    for n_deleted, needed in ((0, 1), (1, 1), (2, 2)):
        (found,) = read_log(stored(*records)[n_deleted:], "g").snapshots
        assert (found.first_offset, found.needed_offset) == (3, needed)


@pytest.mark.parametrize("missing", [0, 1])
def test_snapshot_with_a_chunk_missing_is_rejected(missing):
    records = stored(*snapshot_records(SNAPSHOT._replace(state={"model": b"x" * 1_200_000}), ADDRESS))
    assert len(records) == 3
    del records[missing]
    with pytest.raises(DamagedError, match="expected 3 chunks, got 2"):
        read_log(records, "g").snapshots[-1].read()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda record: record._replace(value=b'{"version":2}'), "progress of version 2"),
        (
            lambda record: record._replace(value=record.value.replace(b"{", b'{"more":1,', 1)),
            "progress with unknown fields 'more'",
        ),
        (lambda record: record._replace(headers=(("kind", b"map"),)), "unknown record kind b'map'"),
        (
            lambda record: record._replace(
                headers=(("kind", b"schema"), ("sequence", b"1"), ("schema", b"k")),
                value=seal(b"perceptron-schema", 2, b""),
            ),
            "unknown schema version",
        ),
    ],
)
def test_record_of_a_newer_release_is_reported_as_newer(change, complaint):
    (record,) = stored(progress(1))
    with pytest.raises(NewerRelease, match=rf"checkpoints\[2\]@0: {complaint}.*a newer release") as rejected:
        read_log([change(record)], "g")
    assert "reset nothing" in rejected.value.hint
    assert "checkpoint export" in rejected.value.hint


@pytest.mark.parametrize(
    "chunk",
    [
        seal(b"perceptron-snapshot", 2, pack([4, {}, {}, {}, {}])),
        seal(b"perceptron-snapshot", 1, pack([4, {}, {}, {}, {}, {}])),
    ],
    ids=["another version", "one more field"],
)
def test_snapshots_of_newer_releases_stop_the_service_without_reset_advice(chunk):
    stream = open_transport("memory://")
    stream.ensure_topics(dict.fromkeys(("events", "labels", "checkpoints"), 1))
    (written,) = snapshot_records(SNAPSHOT, ADDRESS._replace(partition=0, group="online-perceptron"))
    stream.produce([written._replace(value=chunk)])
    with pytest.raises(NewerRelease, match="cannot read any of 1 snapshots") as rejected:
        restore(stream, settings(), 0)
    assert "reset nothing" in rejected.value.hint
    stream.close()


def test_version_of_the_log_rises_when_its_form_changes():
    """Before a release, put the new digest here; after one, raise `LOG_VERSION`, and add a line."""
    lines = [ast.unparse(each) for each in ast.walk(ast.parse(FORMS)) if isinstance(each, ast.AnnAssign)]
    form = "\n".join([*lines, *Progress._fields, *Snapshot._fields])
    digests = {1: "d58b7c7519a5c332"}
    assert hashlib.sha256(form.encode()).hexdigest()[:16] == digests[LOG_VERSION]


def test_record_of_another_program_is_not_attributed_to_another_group():
    with pytest.raises(CheckpointError, match="another program has written") as rejected:
        read_log([Record("checkpoints", 2, 0, 5, None, b"hello")], "g")
    assert "checkpoint reset" in rejected.value.hint


names = st.sampled_from(["kind", "sequence", "chunk", "chunks", "before", "other"])
header_values = st.one_of(
    st.sampled_from([b"", b"snapshot", b"increment", b"progress", b"0", b"1", b"2", "\u0663".encode()]),
    st.just(5000).map(lambda digits: b"9" * digits),
    st.binary(max_size=9),
)
ours = st.fixed_dictionaries(
    {"kind": st.sampled_from([b"snapshot", b"increment", b"progress"])},
    optional=dict.fromkeys(("sequence", "chunk", "chunks", "before"), header_values),
).map(lambda found: tuple(found.items()))
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
progress_values = st.fixed_dictionaries(
    {"version": st.just(1) | json_values},
    optional=dict.fromkeys(("sequence", "offsets", "counts", "consumed", "else"), json_values),
).map(lambda fields: json.dumps(fields).encode())
sealed = st.tuples(
    json_values, st.just({}) | json_values, st.just({}), st.just({}), st.just({}) | json_values
)
values = st.one_of(
    st.none(),
    st.binary(max_size=20),
    json_values.map(lambda value: json.dumps(value).encode()),
    progress_values,
    st.just(100_000).map(lambda depth: b"[" * depth),
    st.sampled_from([b"%s", b'{"version":1,"sequence":%s}']).map(lambda form: form % (b"9" * 5000)),
    sealed.map(lambda fields: seal(b"perceptron-snapshot", 1, pack(fields))),
    sealed.map(lambda fields: seal(b"perceptron-increment", 1, pack([*fields, b"mark"]))),
)
hostile = st.builds(
    Record,
    topic=st.just("checkpoints"),
    partition=st.just(0),
    offset=st.just(0),
    timestamp_ms=st.just(5),
    key=st.none() | st.just(b"online-perceptron") | st.binary(max_size=9),
    value=values,
    headers=ours | st.lists(st.tuples(names, header_values), max_size=4).map(tuple),
)


@given(st.lists(hostile, min_size=1, max_size=3))
@hypothesis_settings(max_examples=n_examples(200))
def test_any_record_in_the_topic_is_read_or_rejected(records):
    records = [record._replace(offset=offset) for offset, record in enumerate(records)]
    rejection = what_rejects(records)
    assert rejection is None or re.search(r"checkpoints\[0\]@\d: ", rejection)
    assert len(rejection or "") < 500


def what_rejects(records):
    """Read a log and its snapshots; return the message of the error, if there is one."""
    try:
        for stored_snapshot in read_log(records, "online-perceptron").snapshots:
            with contextlib.suppress(DamagedError):
                stored_snapshot.read()
    except CheckpointError as error:
        return str(error)
    return None


@given(st.lists(hostile, min_size=1, max_size=3))
@hypothesis_settings(max_examples=n_examples(100))
def test_service_starts_or_explains_with_any_record_in_the_topic(records):
    stream = open_transport("memory://")
    stream.ensure_topics(dict.fromkeys(("events", "labels", "checkpoints"), 1))
    stream.produce([Output("checkpoints", record.key, record.value, record.headers, 0) for record in records])
    with pytest.raises(CheckpointError, match=r"checkpoints\[0\]|classes|model"):
        restore(stream, settings(), 0)
    stream.close()
