"""Predict events with a trained model, without learning."""

from __future__ import annotations

from typing import Any

from perceptron_core import LearnerError
from service.messages.labels import Vocabulary
from service.messages.rejection import Reason, Rejection
from service.models.probability import assessment
from service.models.registry import learner_of
from service.models.rejection import rejection_of
from service.partition.factory import for_file, make_decoder, make_extractor
from service.settings.load import Settings
from service.stream import Record


class Predictor:
    """A model and what its events are read with.

    Parameters
    ----------
    model
        Of `perceptron_core`.
    settings
        Those that it was made with.

    """

    def __init__(self, model: Any, settings: Settings) -> None:  # noqa: ANN401 - any of perceptron_core's
        settings = for_file(settings)
        self._learner = learner_of(model)
        self._decoder = make_decoder(settings, asks_only=True)
        self._extractor = make_extractor(settings)
        self._vocabulary = Vocabulary(settings.classes)
        self._topic = settings.events_topic

    def answer(self, message: bytes, line: int) -> dict[str, Any]:
        """Return the prediction for the event in a line of a file: id, label, score, probability.

        Raises
        ------
        Rejection
            It is no event, or the model cannot take its features.

        """
        event = self._decoder.decode(message, Record(self._topic, 0, line, 0, None, message))
        if event.is_label:
            raise Rejection(Reason.MISSING_FIELD, "an event needs features or text")
        try:
            predicted, score = self._learner.assess(
                self._extractor.extract(event.features, event.text, event.tenant)
            )
        except LearnerError as error:
            raise rejection_of(error) from None
        label = self._vocabulary.spell(predicted, self._vocabulary.first_spelling())
        return assessment(event.id, label, predicted, score, has_log_odds=self._learner.has_log_odds)
