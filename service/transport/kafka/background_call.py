"""A call that runs on a thread of its own, so that its caller can wait with a time limit."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Final

from service.transport.kafka.limits import MOMENT_SECONDS, seconds_left

_GRACE_SECONDS: Final = 3 * MOMENT_SECONDS
"""How long a call that knows its deadline may exceed it: each of its steps gets a moment."""


class BackgroundCall:
    """Runs a call that ought to end by a deadline, and is given up if it does not.

    librdkafka (2.16) was seen never to return from `send_offsets_to_transaction` when its broker was killed
    at that moment. Such a thread stays behind, with its client, until the process ends.

    Parameters
    ----------
    call
        What to do.
    deadline
        By `time.monotonic`.

    """

    def __init__(self, call: Callable[[], None], deadline: float) -> None:
        self._call = call
        self._deadline = deadline
        self._failure: BaseException | None = None
        self._is_given_up = False
        self._thread = Thread(target=self._run, name="commit", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            self._failure = error

    def ends_within(self, seconds: float) -> bool:
        """Wait for so long at most; return whether the call has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def wait(self) -> bool:
        """Wait for the end of the call; return whether it has ended.

        A call whose time was over while the process was frozen gets a moment more.
        """
        if not self._is_given_up:
            self._thread.join(seconds_left(self._deadline + _GRACE_SECONDS))
            self._thread.join(MOMENT_SECONDS)
            self._is_given_up = self._thread.is_alive()
        return not self._thread.is_alive()

    def result(self) -> None:
        """Wait for the end of the call.

        Raises
        ------
        TimeoutError
            It has not ended.
        BaseException
            Whatever the call raised.

        """
        if not self.wait():
            raise TimeoutError
        failure, self._failure = self._failure, None
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # its traceback leads to this frame, and to those of all who wait
