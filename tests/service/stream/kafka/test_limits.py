"""What both adapters for Apache Kafka share."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from service.stream.kafka.limits import (
    ClientOptions,
    TopicLimits,
    transaction_request_seconds,
    within_session,
)

OPTIONS = ClientOptions(10.0, None, 60.0, 30.0, TopicLimits())


@given(st.floats(1, 300), st.floats(1, 900), st.floats(1, 900))
def test_a_transaction_ends_within_the_session_and_a_commit_within_its_transaction(
    session_seconds, transaction_seconds, commit_seconds
):
    limited = within_session(
        replace(
            OPTIONS,
            session_timeout_seconds=session_seconds,
            transaction_timeout_seconds=transaction_seconds,
            commit_timeout_seconds=commit_seconds,
        )
    )
    assert limited.transaction_timeout_seconds < max(session_seconds, 5.1)
    assert limited.commit_timeout_seconds < limited.transaction_timeout_seconds


@given(st.floats(1, 900))
def test_no_request_is_repeated_before_the_commits_time_is_up(commit_timeout_seconds):
    assert transaction_request_seconds(commit_timeout_seconds) > commit_timeout_seconds
