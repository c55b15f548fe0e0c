"""Ask where the checkpoint logs of partitions end that are handed over together."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from service.errors import TransportError
from service.stream import Transport


class LogEnds:
    """A `Transport` that knows already where some logs end.

    A snapshot asks where its log ends. Of hundreds that are made when a process leaves, each question would
    take some ten milliseconds.

    Parameters
    ----------
    transport, topic
        The stream, and the topic of the logs.

    """

    def __init__(self, transport: Transport, topic: str) -> None:
        self._transport = transport
        self._topic = topic
        self._known: dict[int, tuple[int, int]] = {}

    def ask(self, partitions: Collection[int]) -> None:
        """Ask about partitions whose commits have ended: each is told once. If nobody answers, none is."""
        self._known = {}
        with suppress(TransportError):
            found = self._transport.bounds_of([(self._topic, each) for each in partitions])
            self._known = {partition: bounds for (_, partition), bounds in found.items()}

    def forget(self, partition: int) -> None:
        """Forget what nobody has asked for, as when a partition is opened."""
        self._known.pop(partition, None)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._transport, name)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return bounds, as they were when all were asked about; see `Transport.bounds`."""
        known = self._known.pop(partition, None) if topic == self._topic else None
        return self._transport.bounds(topic, partition) if known is None else known
