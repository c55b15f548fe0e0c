"""Tickets, on which clients wait for the result of a submission."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from service.intake.submissions import Submission

Prediction = Mapping[str, Any]
"""The fields of a prediction, as they were written."""


class Ticket:
    """One request, until its record is appended and, of an event, predicted.

    Parameters
    ----------
    submission
        What is to be appended.

    Attributes
    ----------
    repeated : bool
        Whether the record was there already, or on its way; known once `appended` is.
    appended : Future[None]
        Done when the record is durable; fails if it is refused, or if that is not known.
    answered : Future[Prediction | None]
        The committed prediction of an event: None if it is not known here, a `Rejection` if the event became
        a dead letter.

    """

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.repeated = False
        self.appended: Future[None] = Future()
        self.answered: Future[Prediction | None] = Future()
        self._followers: list[Ticket] = []
        for future in (self.appended, self.answered):
            future.set_running_or_notify_cancel()  # several may wait for it: nobody cancels it

    def follow(self, first: Ticket) -> None:
        """Resolve as an earlier request for the same record does."""
        self.repeated = True
        if first.appended.done():
            self.note_appended()
        if first.answered.done():
            self.answer(first.answered.result())
        first._followers.append(self)

    def note_appended(self) -> None:
        """Note that the record is durable."""
        if not self.appended.done():
            self.appended.set_result(None)
        for follower in self._followers:
            follower.note_appended()

    def answer(self, prediction: Prediction | None) -> None:
        """Note the prediction, or that there will be none here."""
        self.note_appended()
        if not self.answered.done():
            self.answered.set_result(prediction)
        for follower in self._followers:
            follower.answer(prediction)

    def reject(self, error: Exception) -> None:
        """Note that the event became a dead letter."""
        self.note_appended()
        if not self.answered.done():
            self.answered.set_exception(error)
        for follower in self._followers:
            follower.reject(error)

    def fail(self, error: Exception) -> None:
        """Note that the record is not appended, as far as is known."""
        if not self.appended.done():
            self.appended.set_exception(error)
        for follower in self._followers:
            follower.fail(error)
