"""Rejections of messages, and their reasons."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """Why a message was rejected: the values of `error.reason`.

    `Decoder.decode` rejects bytes, and `Processor` an event time (with `rejection_of_time`). `rejection_of`
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
_MAX_DIGITS: Final = 20  # digits; no time of a record has more


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


def rejection_of_time(timestamp_ms: int, processing_time_ms: int, time: str = RECORD_TIME) -> Rejection:
    """Return the rejection of an event time, which may be any number; `time` names its field."""
    what = f"{time}, {_cut(timestamp_ms)} ms,"
    if timestamp_ms < 0:
        return Rejection(Reason.EVENT_TIME_OUT_OF_RANGE, f"{what} is before 1970")
    ahead = f"{_cut((timestamp_ms - processing_time_ms + 500) // 1000)} s ahead of the clock"
    return Rejection(
        Reason.EVENT_TIME_OUT_OF_RANGE, f"{what} is {ahead}, more than max_event_time_ahead_seconds allows"
    )


def _cut(number: int) -> str:
    """Format a number that may be too large for a float; of a very long one, only its beginning."""
    digits = str(number)
    return digits if len(digits) <= _MAX_DIGITS else f"{digits[:_MAX_DIGITS]}…"
