"""What both adapters for Apache Kafka share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.transport.kafka.limits import (
    former_transactional_id,
    transaction_request_seconds,
    transactional_id,
)

PLACES = st.tuples(
    st.text("xy-/:1", min_size=1, max_size=7),
    st.text("xy-1", min_size=1, max_size=5),
    st.integers(0, 11),
)


@given(PLACES, PLACES)
def test_no_two_partitions_of_any_groups_and_topics_share_a_transactional_id(
    one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    assert (transactional_id(*one) == transactional_id(*other)) == (one == other)


def test_a_dash_in_a_name_is_not_taken_for_the_one_between_two() -> None:
    assert former_transactional_id("x-y", "z", 0) == former_transactional_id("x", "y-z", 0)
    assert transactional_id("x-y", "z", 0) != transactional_id("x", "y-z", 0)


def test_partitions_of_a_topic_without_a_dash_keep_the_name_that_they_had() -> None:
    assert transactional_id("online-perceptron", "events", 3) == "online-perceptron-events-3"


@given(PLACES)
def test_a_transactional_id_begins_with_the_groups_name(place: tuple[str, str, int]) -> None:
    assert transactional_id(*place).startswith(place[0])


@given(st.floats(1, 900))
def test_no_request_is_repeated_before_the_commits_time_is_up(commit_timeout_seconds: float) -> None:
    assert transaction_request_seconds(commit_timeout_seconds) > commit_timeout_seconds
