import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import CheckpointError
from service.sharing.contribution import Contribution, as_output, from_record
from service.stream import Record

COUNTS = st.integers(0, 10**17)


def record_of(output, **changed):
    record = Record(output.topic, output.partition, 7, 0, output.key, output.value, output.headers)
    return record._replace(**changed)


@given(st.integers(0, 999), COUNTS, COUNTS, COUNTS, COUNTS, st.binary())
def test_what_was_written_is_read_again(lane, start, number, n_lanes, kept, value):
    contribution = Contribution(lane, start, number, n_lanes, kept, value)
    found = from_record(record_of(as_output(contribution, "mixes", "g")), "g")
    assert found == contribution._replace(offset=7)


@pytest.mark.parametrize(
    "changed",
    [{"headers": ()}, {"headers": (("start", b"1"), ("round", b"x"), ("lanes", b"1"), ("kept", b"0"))}],
    ids=["without headers", "a word for a number"],
)
def test_a_foreign_record_is_refused_and_its_place_named(changed):
    output = as_output(Contribution(3, 1, 2, 4, 0, b""), "mixes", "g")
    with pytest.raises(CheckpointError, match=r"mixes\[3\]@7: this is no contribution"):
        from_record(record_of(output, **changed), "g")


def test_a_contribution_of_another_group_is_refused_by_name():
    output = as_output(Contribution(3, 1, 2, 4, 0, b""), "mixes", "theirs")
    with pytest.raises(CheckpointError, match="written by the group 'theirs', not 'ours'"):
        from_record(record_of(output), "ours")
