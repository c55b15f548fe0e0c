"""Tickets, on which clients wait for the result of a submission."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

from service.intake.submissions import Submission

Prediction = Mapping[str, Any]
"""The fields of a prediction, as they were written."""


class Countdown:
    """Waits for all tickets of a body.

    Parameters
    ----------
    count
        How many there are.

    Attributes
    ----------
    done : Future[None]
        Done when each is appended or has failed.

    """

    def __init__(self, count: int) -> None:
        self.done: Future[None] = Future()
        self.done.set_running_or_notify_cancel()  # who waits for it no longer does not cancel it
        self._left = count
        self._lock = threading.Lock()
        if not count:
            self.done.set_result(None)

    def count(self) -> None:
        """Note the end of one ticket."""
        with self._lock:
            self._left -= 1
            is_last = not self._left
        if is_last:
            self.done.set_result(None)


class CountedResult:
    """A `Future[None]` of one ticket among many, for which nobody waits alone: in a twentieth of its time."""

    __slots__ = ("_countdown", "_error", "_is_done")

    def __init__(self, countdown: Countdown) -> None:
        self._countdown = countdown
        self._is_done = False
        self._error: Exception | None = None

    def done(self) -> bool:
        """Return whether it has ended."""
        return self._is_done

    def exception(self) -> Exception | None:
        """Return why it has failed, if it has."""
        return self._error

    def set_result(self, result: None) -> None:  # noqa: ARG002 - as of a future
        """Note the success."""
        self._is_done = True
        self._countdown.count()

    def set_exception(self, error: Exception) -> None:
        """Note the failure."""
        self._error = error
        self.set_result(None)


class _Unasked:
    """A `Future` that nobody waits for."""

    def done(self) -> bool:
        return False

    def set_result(self, result: Prediction | None) -> None:
        """Forget it."""

    def set_exception(self, error: Exception) -> None:
        """Forget it."""


_UNASKED: Final = _Unasked()


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

    awaits_prediction : bool
        Whether anybody waits for `answered`.

    """

    __slots__ = ("_followers", "answered", "appended", "awaits_prediction", "repeated", "submission")

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.repeated = False
        self.appended: Future[None] = Future()
        self.answered: Future[Prediction | None] = Future()
        self.awaits_prediction = not submission.is_label
        self._followers: tuple[Ticket, ...] = ()
        for future in (self.appended, self.answered):
            future.set_running_or_notify_cancel()  # several may wait for it: nobody cancels it

    def follow(self, first: Ticket) -> None:
        """Resolve as an earlier request for the same record does."""
        self.repeated = True
        first.awaits_prediction |= self.awaits_prediction
        if first.appended.done():
            self.note_appended()
        if first.answered.done():
            self.answer(first.answered.result())
        first._followers += (self,)

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


class LineTicket(Ticket):
    """A line of a body, appended with the others of it, whose prediction nobody waits for.

    Parameters
    ----------
    submission
        What is to be appended.
    countdown
        Waits for all tickets of the body.

    """

    __slots__ = ()

    def __init__(self, submission: Submission, countdown: Countdown) -> None:
        self.submission = submission
        self.repeated = False
        self.awaits_prediction = False
        self.appended = CountedResult(countdown)  # type: ignore[assignment] # is used alike
        self.answered = _UNASKED  # type: ignore[assignment] # likewise
        self._followers = ()
