"""Rejections of messages that a model refuses."""

from __future__ import annotations

from perceptron_core import LearnerError
from service.messages.rejection import Reason, Rejection
from service.models.river import ModelError


def rejection_of(error: Rejection | LearnerError | ModelError) -> Rejection:
    """Return the rejection for an error: of the message, a `perceptron_core` learner or a River model."""
    if isinstance(error, Rejection):
        return error
    reason = Reason.MODEL_ERROR if isinstance(error, ModelError) else Reason.OUT_OF_RANGE
    return Rejection(reason, str(error))
