"""Read events of requests into features, as the stream would."""

from __future__ import annotations

from typing import NamedTuple

from service.clock import SYSTEM_CLOCK, Clock
from service.messages.decoder import Decoder, Incoming
from service.messages.features import X
from service.messages.labels import Vocabulary
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_extractor, make_question_decoder
from service.settings.load import Settings


class Question(NamedTuple):
    """An event to be predicted."""

    id: str
    x: X
    """Its features, without those of windows by key."""
    event: Incoming
    timestamp_ms: int
    """Its time, or else the present."""


class QuestionReader:
    """Reads the events of requests for a prediction.

    Parameters
    ----------
    settings
        Say how messages are read.
    clock
        The time of events that have none.

    """

    def __init__(self, settings: Settings, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._decoder = make_question_decoder(settings)
        self._own_decoder = Decoder(Vocabulary(settings.classes), settings.max_message_bytes)
        self._extractor = make_extractor(settings)

    def follow(self, stream: Decoder) -> None:
        """Expect vectors as long as those of the events that a partition's decoder has read."""
        if self._decoder.vectors is not None:
            self._decoder.vectors.follow(stream.vectors)

    def read(self, message: bytes, *, is_own: bool = False) -> Question:
        """Read an event as the stream would, or one in the service's own schema.

        Raises `Rejection`; also for an event with a label.
        """
        event = (self._own_decoder if is_own else self._decoder).decode(message)
        if event.label is not None:
            raise Rejection(
                Reason.UNKNOWN_FIELD, "label: nothing is learned here; labels belong on the stream"
            )
        x = self._extractor.extract(event.features, event.text, event.tenant)
        time_ms = event.timestamp_ms
        return Question(event.id, x, event, int(self._clock.time() * 1000) if time_ms is None else time_ms)
