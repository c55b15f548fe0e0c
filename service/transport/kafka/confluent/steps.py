"""Run the steps of a commit, each until its deadline, and note whether a connection has failed.

When a broker that coordinates a group leaves the cluster, librdkafka (2.16) does not look for the next one
if offsets were on their way to the first: the call goes on until the connection to any broker changes, and
disregards its time limit (issues 5511 and 5456 of librdkafka). A new client finds the coordinator at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from service.transport.kafka.background_call import BackgroundCall
from service.transport.kafka.confluent.errors import FOREIGN
from service.transport.kafka.confluent.questions import LIBRDKAFKA_LOG, QUESTION_SECONDS, Questions
from service.transport.kafka.limits import MOMENT_SECONDS, seconds_left

PATIENCE_SECONDS: Final = 0.3
"""How long a step may take before the coordinator is queried: longer than usual, short for an outage."""
# What librdkafka's log says when a connection has broken, or a request was not answered in time; and when no
# connection came about, so that no request was under way.
_FAILURES: Final = frozenset({"FAIL", "REQTMOUT"})
_NEVER_CONNECTED: Final = "Connect to"


class ConnectionLog:
    """A logger for one client, which notes failures of its connections.

    librdkafka (2.16) repeats what was under way there, and tells of it in no other way. Of the same failure
    it reports once in 30 s, so a noted failure is not forgotten.

    Attributes
    ----------
    has_failure : bool
        Whether a connection has broken or did not come about.
    has_broken : bool
        Whether one has broken: a request may have been under way.

    """

    def __init__(self) -> None:
        self.has_failure = self.has_broken = False

    def log(self, level: int, form: str, /, *words: str) -> None:
        """Take a line, as `logging.Logger.log` does."""
        if words[0] in _FAILURES:
            self.has_failure = True
            self.has_broken |= _NEVER_CONNECTED not in words[-1]
        LIBRDKAFKA_LOG.log(level, form, *words)


def coordinator_answers(cluster: Questions, group: str) -> bool:
    """Return whether a group's coordinator answers a client that knew none before; any thread may ask."""
    client = cluster.client(AdminClient, {})
    try:
        futures = client.describe_consumer_groups([group], request_timeout=QUESTION_SECONDS)
        futures[group].result(MOMENT_SECONDS)
    except (TimeoutError, *FOREIGN):
        return False
    return True


def do_step(step: Callable[[float], None], deadline: float) -> None:
    """Run a step that takes a time limit; one that was not done in time goes on for a moment."""
    try:
        step(seconds_left(deadline))
    except KafkaException as error:
        if error.args[0].code() != KafkaError._TIMED_OUT:  # noqa: SLF001 - published so
            raise
        step(MOMENT_SECONDS)


def do_with_coordinator(
    step: Callable[[], None],
    deadline: float,
    *,
    has_failure: Callable[[], bool],
    answers: Callable[[], bool],
    patience_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Run a step on a thread of its own; give it up when the coordinator answers others and not this client.

    A step that is given up ends with its client: the next producer of the transactional id fences it.

    Parameters
    ----------
    step
        What to do.
    deadline
        By `time.monotonic`.
    has_failure
        Whether a connection of the client has failed; if none has, brokers are just slow.
    answers
        Whether the coordinator answers others.
    patience_seconds
        How long the step may take before the coordinator is queried, and again once it has answered.

    Raises
    ------
    KafkaException
        The step is stuck.

    """
    call = BackgroundCall(step, deadline)
    while not call.ends_within(patience_seconds) and seconds_left(deadline):
        if has_failure() and answers() and not call.ends_within(patience_seconds):
            reason = "the coordinator of the group has changed, and the client has not found the new one"
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, reason))  # noqa: SLF001 - published so
    call.result()
