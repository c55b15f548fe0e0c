"""Read events of requests into features, as the stream would."""

from __future__ import annotations

from typing import NamedTuple

from service.messages.decoder import Decoder
from service.messages.features import X
from service.messages.labels import Vocabulary
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_extractor, make_question_decoder
from service.settings.load import Settings


class Question(NamedTuple):
    """An event to be predicted."""

    id: str
    x: X


class QuestionReader:
    """Reads the events of requests for a prediction.

    Parameters
    ----------
    settings
        Say how messages are read.

    """

    def __init__(self, settings: Settings) -> None:
        self._decoder = make_question_decoder(settings)
        self._own_decoder = Decoder(Vocabulary(settings.classes), settings.max_message_bytes)
        self._extractor = make_extractor(settings)

    def read(self, message: bytes, *, is_own: bool = False) -> Question:
        """Read an event as the stream would, or one in the service's own schema.

        Raises `Rejection`; also for an event with a label.
        """
        event = (self._own_decoder if is_own else self._decoder).decode(message)
        if event.label is not None:
            raise Rejection(
                Reason.UNKNOWN_FIELD, "label: nothing is learned here; labels belong on the stream"
            )
        return Question(event.id, self._extractor.extract(event.features, event.text, event.tenant))
