from hypothesis import given
from hypothesis import strategies as st

from service.formats.schema import MOST_KEPT, Schema, Schemas, keys_of
from service.stream.protocol import Record


def key(schema_id):
    return b"\x00" + schema_id.to_bytes(4, "big")


def records(*ids, topic="events"):
    return [Record(topic, 0, n, 0, None, key(schema_id)) for n, schema_id in enumerate(ids)]


def schema(schema_id):
    return Schema("AVRO", (b"%d" % schema_id,))


def schemas(*ids):
    found = Schemas({"events": keys_of})
    found.add({key(each): schema(each) for each in ids})
    return found


def test_those_that_a_batch_needs_and_that_are_not_known_are_missing():
    assert schemas(1).missing(records(3, 1, 2, 3)) == [key(2), key(3)]


def test_topics_without_schemas_need_none():
    assert schemas().missing(records(1, topic="labels")) == []


@given(st.lists(st.integers(0, 9), unique=True), st.lists(st.lists(st.integers(0, 9))))
def test_the_state_of_schemas_makes_the_same_schemas(ids, batches):
    found, restored = schemas(*ids), schemas(99)
    for batch in batches:
        found.missing(records(*batch))
    restored.restore(found.state())
    assert restored.state() == found.state()
    assert all(restored[key(each)] == schema(each) for each in ids)
    assert restored[key(99)] is None


def test_a_snapshot_holds_no_more_than_those_last_used():
    found = schemas(*range(MOST_KEPT + 2))
    found.missing(records(0))
    kept = [each[0] for each in found.state()]
    assert kept == [*map(key, range(3, MOST_KEPT + 2)), key(0)]
    assert found[key(1)] is found[key(2)] is None


def test_what_was_made_of_a_schema_is_forgotten_with_it():
    found = schemas(1, 2)
    readers = found.readers("avro")
    readers[key(1)], readers[key(2)] = "one", "two"
    found.add({key(1): schema(5)})
    assert readers == {key(2): "two"}
    found.restore([])
    assert readers == {}
