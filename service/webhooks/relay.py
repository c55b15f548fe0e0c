"""Relay committed predictions, outcomes or drifts to a webhook, each alert at least once.

Each webhook is a separate consumer group, `<group>.relay.<name>`, so that a failing webhook does not delay
others. A group commits an offset when all alerts before it were accepted: a crash or a rebalance repeats
some alerts and loses none.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPException
from threading import Event, Lock
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import Request

from service.clock import SYSTEM_CLOCK, Backoff
from service.errors import (
    OffsetOutOfRange,
    OwnershipLost,
    StorageFull,
    TransactionFailed,
    TransportUnavailable,
)
from service.formats.bounded_http import bounded_opener
from service.logs import LOG_INTERVAL_SECONDS
from service.settings.load import Settings
from service.settings.parts import DRIFT, WebhookSettings
from service.settings.topics import count_of_output
from service.stream.protocol import Consumer, Record, Transport, Writer
from service.version import version
from service.webhooks.alerts import Alert, AlertMaker, headers_of

_log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.2
_WAITING_POLL_SECONDS: Final = 0.02
"""Seconds between polls while alerts are being posted."""
_MAX_RECORDS: Final = 500
_COMMIT_SECONDS: Final = 5.0
"""Seconds after which offsets are committed if there was no alert."""
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


def _first_starts(transport: Transport, group: str, topic: str) -> dict[int, int]:
    """Return where to begin partitions without a committed offset: all partitions, or none.

    A partition that is added later begins with its first record.
    """
    partitions = range(count_of_output(transport, topic, "start it, or correct the topic's name"))
    if any(transport.committed(group, [topic], each) for each in partitions):
        return {}
    bounds = transport.bounds_of([(topic, each) for each in partitions])
    return {partition: end for (_, partition), (_, end) in bounds.items()}


class _Part:
    """A partition of this member: its alerts that are being posted, and the committed offset."""

    def __init__(self, writer: Writer, topic: str, offset: int) -> None:
        self._writer = writer
        self._topic = topic
        self.committed = self.position = offset
        self.cancelled = Event()
        self._alerts: list[tuple[Alert, Future[bool]]] = []

    @property
    def is_waiting(self) -> bool:
        """Whether an alert is being posted."""
        return not all(future.done() for _, future in self._alerts)

    def take(self, alerts: list[tuple[Alert, Future[bool]]], position: int) -> None:
        """Note alerts that are being posted, and the next offset after them."""
        self._alerts, self.position = alerts, position

    def settle(self, *, is_due: bool) -> None:
        """Commit up to the first alert that is not accepted; without alerts, only if `is_due`."""
        rejected = (alert.offset for alert, future in self._alerts if not (future.done() and future.result()))
        offset = next(rejected, self.position)
        if offset > self.committed and (self._alerts or is_due):
            self._writer.commit([], {self._topic: offset})
            self.committed = offset
        self._alerts = [each for each in self._alerts if each[0].offset >= offset]

    def close(self) -> None:
        """Release the writer."""
        self.cancelled.set()
        self._writer.close()


class Relay:
    """Posts the alerts of one webhook; the assignee of its own consumer.

    Parameters
    ----------
    transport
        The stream, used only by this relay.
    settings, hook
        What is posted, and where.

    """

    def __init__(self, transport: Transport, settings: Settings, hook: WebhookSettings) -> None:
        self._transport = transport
        self._topic = settings.signals_topic if DRIFT in hook.on else settings.predictions_topic
        self._group = f"{settings.group}.relay.{hook.title}"
        self._hook = hook
        self._maker = AlertMaker(hook)
        self._starts = _first_starts(transport, self._group, self._topic)
        self._parts: dict[int, _Part] = {}
        self._assigned: set[int] = set()
        self._due = 0.0
        self._next_log = SYSTEM_CLOCK.monotonic() + LOG_INTERVAL_SECONDS
        self._logged: dict[str, int] = {}
        self.delivery = Delivery(hook)

    def run(self, stop: Event, *, exit_at_end: bool = False) -> None:
        """Relay until `stop` is set or, with `exit_at_end`, until the alerts of all records were accepted.

        Raises `TopicMissing`, `AccessDenied` and, with `exit_at_end`, `StorageFull`.
        """
        consumer = self._transport.join(self._group, [self._topic], self)
        backoff = Backoff()
        with ThreadPoolExecutor(self._hook.concurrency, f"webhook-{self._hook.title}") as pool:
            try:
                while not stop.is_set():
                    try:
                        is_quiet = self._turn(consumer, pool) and exit_at_end and consumer.at_end()
                        if is_quiet and self._others_are_done():
                            break
                        backoff.reset()
                    except (TransportUnavailable, StorageFull) as error:
                        if exit_at_end and isinstance(error, StorageFull):
                            raise
                        _log.warning("webhook %s: the stream is unavailable: %s", self._hook.title, error)
                        stop.wait(backoff.next_seconds())
            finally:
                self._leave(consumer)
        self._log_counts(is_end=True)

    def _others_are_done(self) -> bool:
        """Return whether all alerts of the partitions of other members are accepted, even of killed ones."""
        for number in {*range(self._transport.partition_count(self._topic))} - self._parts.keys():
            offset = self._transport.committed(self._group, [self._topic], number).get(self._topic)
            start = self._starts.get(number, 0) if offset is None else offset
            if next(self._transport.read(self._topic, number, start), None) is not None:
                return False
        return True

    def _turn(self, consumer: Consumer, pool: ThreadPoolExecutor) -> bool:
        """Poll records and commit accepted alerts; return whether no alert is being posted."""
        self._open(consumer)
        waiting = {(self._topic, number) for number, part in self._parts.items() if part.is_waiting}
        timeout = _WAITING_POLL_SECONDS if waiting else _POLL_SECONDS
        try:
            for number, records in consumer.poll(timeout, _MAX_RECORDS, waiting).items():
                if (part := self._parts.get(number)) is not None:
                    position = consumer.positions(number)[self._topic]
                    part.take(self._begin(records, part, pool), position)
        except OffsetOutOfRange as error:
            self._skip_lost(consumer, error)
        is_due = SYSTEM_CLOCK.monotonic() >= self._due
        self._settle(is_due=is_due)
        if is_due:
            self._due = SYSTEM_CLOCK.monotonic() + _COMMIT_SECONDS
        self._log_counts()
        return not any(part.is_waiting for part in self._parts.values())

    def _begin(
        self, records: Sequence[Record], part: _Part, pool: ThreadPoolExecutor
    ) -> list[tuple[Alert, Future[bool]]]:
        alerts = (alert for record in records if (alert := self._maker.alert(record)) is not None)
        return [(alert, pool.submit(self.delivery.deliver, alert, part.cancelled)) for alert in alerts]

    def _open(self, consumer: Consumer) -> None:
        """Start the assigned partitions at the committed offsets of their last owners."""
        for number in sorted(self._assigned - self._parts.keys()):
            try:
                writer = consumer.writer(number)
                committed = consumer.take_over([number]).get(number, {})
                offset = committed.get(self._topic, self._starts.get(number, 0))
                if self._topic not in committed:
                    writer.commit([], {self._topic: offset})  # keeps the beginning
                consumer.start(number, {self._topic: offset})
            except (OwnershipLost, TransactionFailed) as error:
                _log.info("webhook %s: partition %d: %s", self._hook.title, number, error)
                continue
            self._parts[number] = _Part(writer, self._topic, offset)

    def _settle(self, *, is_due: bool) -> None:
        for number, part in [*self._parts.items()]:
            if part.is_waiting:
                continue
            try:
                part.settle(is_due=is_due)
            except (OwnershipLost, TransactionFailed) as error:
                _log.warning("webhook %s: partition %d: opened again: %s", self._hook.title, number, error)
                self._drop({number})

    def _skip_lost(self, consumer: Consumer, error: OffsetOutOfRange) -> None:
        """Continue with the first remaining record; the webhook loses the deleted ones."""
        first, _ = self._transport.bounds(self._topic, error.partition)
        _log.error("webhook %s: alerts may be lost: %s", self._hook.title, error)
        consumer.start(error.partition, {self._topic: first})

    def _leave(self, consumer: Consumer) -> None:
        """Finish the current posts, commit what was accepted, and leave the group."""
        for part in self._parts.values():
            part.cancelled.set()
        while any(part.is_waiting for part in self._parts.values()):
            SYSTEM_CLOCK.wait(Event(), _WAITING_POLL_SECONDS)
        try:
            self._settle(is_due=True)
        except (TransportUnavailable, StorageFull) as error:
            _log.warning("webhook %s: some alerts will be repeated: %s", self._hook.title, error)
        finally:
            consumer.close()

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        """Note partitions that this member owns; they are started by the next turn."""
        self._assigned |= partitions

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        """Release partitions; their next owner repeats the posts that are not finished."""
        self._assigned -= partitions
        self._drop(partitions)

    partitions_lost = partitions_revoked

    def _drop(self, partitions: frozenset[int] | set[int]) -> None:
        for number in partitions:
            if (part := self._parts.pop(number, None)) is not None:
                part.close()

    def _log_counts(self, *, is_end: bool = False) -> None:
        now, done = SYSTEM_CLOCK.monotonic(), self.delivery
        counts = {"delivered": done.delivered, "failed": done.failed, "unreadable": self._maker.n_unreadable}
        if is_end or (now >= self._next_log and counts != self._logged):
            self._next_log, self._logged = now + LOG_INTERVAL_SECONDS, counts
            line = "webhook %s: %d delivered, %d attempts failed, %d unreadable records"
            _log.info(line, self._hook.title, *counts.values(), extra={"webhook": self._hook.title, **counts})
