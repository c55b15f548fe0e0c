"""A call on a thread of its own. In: the call. Out: its end, waited for as long as its time limit allows."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import Final

_GRACE_SECONDS: Final = 1.0
"""What a call that knows its deadline may take beyond it."""


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
        self._thread = Thread(target=self._run, name="commit", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - raised again by who waits: else it would pass for done
            self._failure = error

    @property
    def is_running(self) -> bool:
        """Whether the call has neither ended nor been given up."""
        return self._thread.is_alive() and monotonic() < self._deadline + _GRACE_SECONDS

    def wait(self) -> bool:
        """Wait for the end of the call; return whether it has ended."""
        self._thread.join(max(0.0, self._deadline + _GRACE_SECONDS - monotonic()))
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
        if self._failure is not None:
            raise self._failure
