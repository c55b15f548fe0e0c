"""What a writer says of records that the broker refuses."""

import pytest

from service.errors import MessageTooLarge
from service.stream import Output
from service.transport.kafka.writer import KafkaWriter


class Refusing:
    """A producer whose transactions are too large."""

    is_worn = False

    def transact(self, *_, **__):
        raise MessageTooLarge("events[0]: MSG_SIZE_TOO_LARGE", hint="raise it")

    def drop(self):
        pass


@pytest.mark.parametrize(
    ("topics", "which"),
    [
        (["predictions"], "the topic predictions"),
        (["predictions", "letters", "predictions"], "one of the topics letters, predictions"),
    ],
)
def test_a_record_that_is_too_large_is_refused_with_the_topics_that_it_may_be_for(topics, which):
    writer = KafkaWriter(
        lambda **_: Refusing(),
        partition=0,
        where="events[0]",
        group_metadata=lambda: None,
        still_owner=lambda _: True,
        check_topics=lambda _: None,
        commit_timeout_seconds=1.0,
    )
    for _ in range(2):  # the writer is closed by then, and says why
        with pytest.raises(MessageTooLarge) as refusal:
            writer.commit([Output(topic, None, b"") for topic in topics], {})
        assert str(refusal.value) == f"events[0]: MSG_SIZE_TOO_LARGE; the record was for {which}"
        assert "max.message.bytes" in refusal.value.hint
