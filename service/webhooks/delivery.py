"""Post alerts until they are accepted, with a wait that grows with each failure."""

from __future__ import annotations

import logging
import ssl
from contextlib import closing
from http.client import HTTPException
from threading import Event, Lock
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import Request

from service.clock import SYSTEM_CLOCK, Backoff
from service.formats.bounded_http import bounded_opener
from service.settings.parts import WebhookSettings
from service.version import version
from service.webhooks.alerts import Alert, headers_of

_log = logging.getLogger(__name__)

_MAX_ASKED_SECONDS: Final = 300
"""Longest Retry-After of a server that is followed."""


class Delivery:
    """Posts the alerts of one webhook, on any thread.

    Attributes
    ----------
    delivered, failed : int
        Number of accepted alerts, and of failed attempts.

    """

    def __init__(self, hook: WebhookSettings) -> None:
        self._hook = hook
        self._opener = bounded_opener(ssl.create_default_context())
        self._counting = Lock()
        self.delivered = self.failed = 0

    def deliver(self, alert: Alert, is_cancelled: Event) -> bool:
        """Post an alert until it is accepted; False if it was cancelled before."""
        backoff, failures = Backoff(), 0
        while not is_cancelled.is_set():
            why, asked_seconds = self._post(alert)
            if not why:
                with self._counting:
                    self.delivered += 1
                if failures:
                    what = "webhook %s: alert %s: accepted (failures: %d)"
                    _log.info(what, self._hook.title, alert.id, failures)
                return True
            failures += 1
            with self._counting:
                self.failed += 1
            seconds = max(backoff.next_seconds(), asked_seconds)
            if failures & (failures - 1) == 0:  # 1, 2, 4, 8, …
                message = "webhook %s: %s: alert %s: %s; trying again in %.1f s (failures: %d)"
                target = self._hook.title, self._hook.address
                _log.warning(message, *target, alert.id, why, seconds, failures)
            is_cancelled.wait(seconds)
        return False

    def _post(self, alert: Alert) -> tuple[str, float]:
        """Post an alert once; return why it was not accepted, if so, and the wait that the server asks for.

        The reason contains only the host of the URL.
        """
        hook = self._hook
        headers = headers_of(alert, hook.secret.get_secret_value(), int(SYSTEM_CLOCK.time()))
        headers["User-Agent"] = f"online-perceptron/{version()}"
        request = Request(hook.url.get_secret_value(), alert.body, headers, method="POST")  # noqa: S310 - checked
        try:
            with closing(self._opener.open(request, timeout=hook.timeout_seconds)):
                return "", 0.0
        except HTTPError as error:
            with closing(error):
                return f"answered {error.code}", _asked(error.headers.get("Retry-After"))
        except URLError as error:
            reason = error.reason
            return reason if isinstance(reason, str) else _why(reason), 0.0
        except (OSError, HTTPException, ValueError) as error:  # ValueError: a malformed Location
            return _why(error), 0.0


def _why(error: BaseException) -> str:
    """Return what went wrong, without any part of the URL."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


def _asked(seconds: str | None) -> float:
    return min(float(seconds), _MAX_ASKED_SECONDS) if seconds and seconds.isdecimal() else 0.0
