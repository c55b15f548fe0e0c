"""Send the batches of `perceptron produce` at a given rate, and delayed labels when they are due."""

from __future__ import annotations

import time
from collections import deque
from typing import Final

from service.datasets.stream_simulator import split_label
from service.stream import Output, Transport

_BATCHES_PER_SECOND: Final = 10  # with a rate, so that the flow is even


class LateLabels:
    """Labels removed from their events, to be sent `delay_seconds` after them."""

    def __init__(self, topic: str, delay_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._waiting: deque[tuple[float, Output]] = deque()
        self._new: list[Output] = []
        self.topic = topic

    def add(self, key: bytes | None, message: bytes) -> bytes:
        """Remove the label of an event, if it has one, to be sent later; return the event."""
        event, label = split_label(message)
        if label is not None:
            self._new.append(Output(self.topic, key, label))
        return event

    def events_sent(self, now: float) -> None:
        """Start the delay of the labels of the events that have just been sent."""
        self._waiting.extend((now + self._delay_seconds, label) for label in self._new)
        self._new.clear()

    def due(self, now: float) -> list[Output]:
        """Return the labels whose time has come, once each."""
        labels = []
        while self._waiting and self._waiting[0][0] <= now:
            labels.append(self._waiting.popleft()[1])
        return labels

    def next_due(self) -> float | None:
        """Return when the next label is to be sent; None when all have been."""
        return self._waiting[0][0] if self._waiting else None


class Sender:
    """Collects records and writes them in batches, no faster than `rate` records a second."""

    def __init__(
        self,
        transport: Transport,
        topic: str,
        batch_records: int,
        rate: float | None = None,
        late: LateLabels | None = None,
    ) -> None:
        self._transport = transport
        self._rate = rate
        self._late = late
        self._batch_records = (
            min(batch_records, max(1, int(rate / _BATCHES_PER_SECOND))) if rate else batch_records
        )
        self._batch: list[Output] = []
        self._began = time.monotonic()
        self.topic = topic
        self.sent = 0
        """Records written so far, late labels not among them."""
        self._labels_sent = 0
        self._on_their_way = 0

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    def summary(self) -> str:
        """Report what was sent; a batch under way at the end may have arrived or not."""
        labels = f" and {self._labels_sent} to {self._late.topic}" if self._late else ""
        unsure = f"; {self._on_their_way} more may have arrived or not" if self._on_their_way else ""
        return f"{self.sent} records to {self.topic}{labels} in {self.seconds:.2f} s{unsure}"

    def add(self, key: bytes | None, message: bytes, time_ms: int | None = None) -> None:
        """Add a record, which is written when the batch is full, with its time or that of writing."""
        message = self._late.add(key, message) if self._late else message
        self._batch.append(Output(self.topic, key, message, timestamp_ms=time_ms))
        if len(self._batch) >= self._batch_records:
            self.flush()

    def flush(self) -> None:
        """Write what has been collected, as soon as the rate allows it, and the labels that are due."""
        if self._rate:
            time.sleep(max(0.0, self.sent / self._rate - self.seconds))
        if self._batch:
            self._write(self._batch)
            self.sent += len(self._batch)
            self._batch = []
        self._write_labels()

    def finish(self) -> None:
        """Write everything, waiting for the labels that are not due yet."""
        self.flush()
        while self._late and (due := self._late.next_due()) is not None:
            time.sleep(max(0.0, due - self.seconds))
            self._write_labels()

    def _write_labels(self) -> None:
        if self._late:
            self._late.events_sent(self.seconds)
            if labels := self._late.due(self.seconds):
                self._write(labels)
                self._labels_sent += len(labels)

    def _write(self, records: list[Output]) -> None:
        self._on_their_way = len(records)
        self._transport.produce(records)
        self._on_their_way = 0
