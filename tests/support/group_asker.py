"""Asks about a group while its broker is unreachable, in a process of its own, as librdkafka might end it.

Tells on stdout where it is; goes on from one step to the next when it is sent a line.
"""

import sys
import time

from confluent_kafka.admin import AdminClient

import service.transport.kafka.limits

service.transport.kafka.limits.REQUEST_TIMEOUT_SECONDS = 1.0  # before anybody has read it

from service.errors import TransportUnavailable  # noqa: E402
from service.transport.kafka.confluent.questions import QUESTION_SECONDS, Questions  # noqa: E402


def main() -> None:
    """Ask until there is an answer; then three times in vain; then do nothing, and ask again."""
    cluster = Questions([sys.argv[1]], {})
    _ask_until_answered(cluster)
    _tell("answered")
    unanswered = sum(not _is_answered(cluster) for _ in range(3))
    time.sleep(QUESTION_SECONDS)  # the time that librdkafka gives to questions is over
    _tell(f"{unanswered} not answered")
    time.sleep(3)  # it finds the broker again
    _ask_until_answered(cluster)
    _tell("answered")


def _tell(what: str) -> None:
    print(what, flush=True)  # noqa: T201 - what the test reads
    sys.stdin.readline()


def _ask_until_answered(cluster: Questions) -> None:
    while not _is_answered(cluster):
        time.sleep(0.1)


def _is_answered(cluster: Questions) -> bool:
    try:
        cluster.ask(AdminClient.describe_consumer_groups, ["group"], "{}")
    except TransportUnavailable:
        return False
    return True


if __name__ == "__main__":
    main()
