"""The parent's side of one worker: its process, its last report, and the request under way.

The last report remains after the worker's end.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from contextlib import suppress
from multiprocessing import resource_tracker
from time import monotonic
from typing import Final

from service.errors import ServiceError
from service.interrupts import interrupts_held
from service.settings.load import Settings
from service.workers.merged_metrics import NOTHING
from service.workers.worker import Request, ServeHttp, WorkerReport, work

ANSWER_SECONDS: Final = 1.0
"""How long to wait for an answer; a slower worker is shown with its last one."""

LEAVE_SECONDS: Final = 5.0
"""How long a worker may send no report after a LEAVE request: one that waits for its stream sends reports,
and leaves before."""

_SPAWN: Final = multiprocessing.get_context("spawn")
"""A fresh interpreter: nothing of the parent's threads, locks and connections comes along."""


class WorkerProcess:
    """A worker, from its start to its end; it cannot be started twice.

    Parameters
    ----------
    number, settings, url, serve_http, exit_at_end
        As for `service.workers.worker.work`.
    changed
        Held to read a worker's state, notified when it has reported or ended.

    """

    def __init__(
        self,
        number: int,
        settings: Settings,
        url: str,
        *,
        serve_http: ServeHttp,
        exit_at_end: bool,
        changed: threading.Condition,
    ) -> None:
        self._changed = changed
        self.last = WorkerReport()
        self.metrics = NOTHING
        self.heard_at = self.started_at = monotonic()
        self._has_hung_up = False
        self._metrics_requested_at: float | None = None
        self._leave_requested_at: float | None = None
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=work,
            args=(theirs, number, settings, url),
            kwargs={"serve_http": serve_http, "exit_at_end": exit_at_end},
            name=f"worker {number}",
            daemon=True,
        )
        resource_tracker.ensure_running()  # its start would end the block
        with interrupts_held():
            self._process.start()
        theirs.close()  # or its end could not be noticed
        threading.Thread(target=self._listen, name=f"worker {number}", daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """Whether it has exited, and all its reports were read; for the thread that started it."""
        return self._has_hung_up and self._process.exitcode is not None

    @property
    def pid(self) -> int | None:
        """Its process id."""
        return self._process.pid

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                report = self._connection.recv()
                with self._changed:
                    self._note(report)
                    self._changed.notify_all()
        with self._changed:
            self._has_hung_up = True
            self._changed.notify_all()

    def _note(self, report: WorkerReport) -> None:
        self.last, self.heard_at = report, monotonic()
        if report.metrics is not None:
            self.metrics, self._metrics_requested_at = report.metrics, None

    def ask_metrics(self) -> None:
        """Ask for its metrics, unless an answer is still due: answers that are not read must not pile up."""
        if self._metrics_requested_at is None:
            self._metrics_requested_at = monotonic()
            self._send(Request.ASK_METRICS)

    @property
    def will_answer(self) -> bool:
        """Whether an answer is due that may come in time."""
        is_due = self._metrics_requested_at is not None and not self._has_hung_up
        return is_due and monotonic() - (self._metrics_requested_at or 0.0) < ANSWER_SECONDS

    def leave(self) -> None:
        """Ask it to finish its batch, commit and leave."""
        if self._leave_requested_at is None:
            self._leave_requested_at = monotonic()
            self._send(Request.LEAVE)

    @property
    def is_deaf(self) -> bool:
        """Whether it got a LEAVE request and has sent no report for `LEAVE_SECONDS` since."""
        requested_at = self._leave_requested_at
        return requested_at is not None and monotonic() - max(requested_at, self.heard_at) > LEAVE_SECONDS

    def kill(self) -> None:
        """Kill it; another process repeats what it has not committed."""
        self._process.kill()
        self._process.join()

    def _send(self, request: Request) -> None:
        with suppress(OSError):  # it has ended; `_listen` finds out
            self._connection.send(request)

    @property
    def failure(self) -> ServiceError | None:
        """Why it has ended, if that was an error of its own."""
        code = self._process.exitcode
        if self.last.error is None and code is not None and code > 0:
            return ServiceError(f"{self._process.name} failed, exit code {code}; what happened stands above")
        return self.last.error

    @property
    def how_it_ended(self) -> str:
        """How it has ended, for a log line."""
        code = self._process.exitcode or 0
        if self.last.error is not None:
            return str(self.last.error)
        return f"killed by {signal.Signals(-code).name}" if code < 0 else "left without being told to"
