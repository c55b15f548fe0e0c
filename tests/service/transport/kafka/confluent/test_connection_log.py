import pytest

from service.transport.kafka.confluent.connection_log import ConnectionLog


@pytest.mark.parametrize(
    ("words", "has_failure", "has_broken"),
    [
        (("CONFWARN", "producer-1", "anything"), False, False),
        (("FAIL", "producer-1", "Connect to ipv4#127.0.0.1:1 failed: Connection refused"), True, False),
        (("FAIL", "producer-1", "Disconnected while requests were under way"), True, True),
        (("REQTMOUT", "producer-1", "Timed out 1 in-flight"), True, True),
    ],
)
def test_a_connection_that_fails_and_one_that_breaks_are_told_apart(words, has_failure, has_broken):
    log = ConnectionLog()
    log.log(3, "%s %s %s", *words)
    log.log(6, "%s %s %s", "CONFWARN", "producer-1", "anything")
    assert (log.has_failure, log.has_broken) == (has_failure, has_broken)
