"""Rejections of messages, and their reasons."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """Why a message was rejected: the values of `error.reason`.

    `Decoder.decode` rejects bytes, and `Processor` an event time (with `TimeBounds`). `rejection_of`
    of service.models.learner translates errors of the model: a learner's error is `OUT_OF_RANGE`; an error of
    a River model, or a text that the model does not use, is `MODEL_ERROR`. An error of `events.hook` is
    `HOOK_ERROR`.
    """

    EMPTY = "empty"
    TOO_LARGE = "too_large"
    INVALID_UTF8 = "invalid_utf8"
    INVALID_JSON = "invalid_json"
    NO_SCHEMA = "no_schema"
    UNKNOWN_SCHEMA = "unknown_schema"
    INVALID_DATA = "invalid_data"
    TOO_DEEP = "too_deep"
    NOT_AN_OBJECT = "not_an_object"
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"
    INVALID_ID = "invalid_id"
    INVALID_TYPE = "invalid_type"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    UNKNOWN_LABEL = "unknown_label"
    EVENT_TIME_OUT_OF_RANGE = "event_time_out_of_range"
    MODEL_ERROR = "model_error"
    HOOK_ERROR = "hook_error"


SKIPPED: Final = "skipped"
"""Name of the reason of `Skipped` in commands and responses; no dead letter has it."""
BEFORE_START: Final = "the record is earlier than start_from"
_MAX_MESSAGE_LENGTH: Final = 500


class Rejection(Exception):
    """A message that must not reach the model.

    Parameters
    ----------
    reason
        One of `Reason`.
    message
        What is wrong, as text; cut to 500 characters, as names in it may be of any length.

    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        self.message = message[:_MAX_MESSAGE_LENGTH]
        super().__init__(f"{reason}: {self.message}")


class Skipped(Rejection):
    """A record that a filter skips: it is counted, without a prediction or a dead letter.

    Parameters
    ----------
    why
        Names the setting that skips it.

    """

    def __init__(self, why: str) -> None:
        super().__init__(SKIPPED, why)


RECORD_TIME: Final = "the record's timestamp"
