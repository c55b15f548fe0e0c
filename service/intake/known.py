"""Whether the loop has already processed a submission, and its prediction.

This reads the label join of the loop while that goes on, one entry at a time.
"""

from __future__ import annotations

from service.errors import IdTaken
from service.intake.submissions import Submission
from service.intake.tickets import Prediction
from service.messages.labels import Truth, Vocabulary
from service.models.example_weights import check_weight
from service.models.probability import assessment
from service.partition.processor import Processor


class KnownIds:
    """The events and labels that the label join of one partition remembers.

    Parameters
    ----------
    processor
        Which the loop drives.
    vocabulary
        How predictions name the classes.
    truth_on_timeout
        What events are taken for whose label has not come in time; None: they stay without.

    """

    def __init__(
        self, processor: Processor, vocabulary: Vocabulary, truth_on_timeout: Truth | None = None
    ) -> None:
        self._processor = processor
        self._vocabulary = vocabulary
        self._truth_on_timeout = truth_on_timeout

    def has(self, submission: Submission) -> bool:
        """Return whether it came before. Raises `IdTaken` for an event that came with other contents."""
        join, event_id = self._processor.join, submission.id
        example = join.examples.get(event_id)
        if submission.is_label:
            label = example or join.early.get(event_id)
            if label is None or label.truth != submission.truth:
                return False
            # A class that was learned because no label came is on no topic: a label that says the same is.
            may_be_assumed = label.truth == self._truth_on_timeout
            return example is None or not (may_be_assumed and join.is_overdue(example))
        if example is not None and not submission.repeats(example.x, example.truth):
            raise self.conflict(submission)
        return example is not None or join.expired(event_id)

    def check(self, submission: Submission) -> None:
        """Raise `Rejection` if it would be a dead letter: it has a weight, and the model takes none."""
        check_weight(submission.weight, takes_weights=self._processor.takes_weights)

    def prediction(self, submission: Submission) -> Prediction | None:
        """Return the prediction of an event that came before, as far as it is kept: not its `updates`."""
        example = self._processor.join.examples.get(submission.id)
        if submission.is_label or example is None:
            return None
        processor, predicted = self._processor, example.predicted
        label = self._vocabulary.spell(predicted, processor.spelling)
        has_log_odds = processor.learner.has_log_odds
        found = assessment(submission.id, label, predicted, example.score, has_log_odds=has_log_odds)
        return found | {"event_time_ms": example.timestamp_ms}

    def conflict(self, submission: Submission) -> IdTaken:
        """Return the error that says that an id has another event."""
        return IdTaken(
            f"event {submission.id!r} came before, with other features, text or label",
            hint="send another event under an id of its own; a label that came later to POST /labels",
        )
