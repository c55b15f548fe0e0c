"""Ask where the checkpoint logs of all open partitions end when one of them is asked about."""

from __future__ import annotations

from typing import Any

from service.stream import Transport


class LogEnds:
    """A `Transport` that asks about all open partitions at once, and answers of each once.

    A snapshot asks where its log ends. Of hundreds that are due together, or made when a process leaves, each
    question would take some ten milliseconds. An answer that is older than the question is a lower bound.

    Parameters
    ----------
    transport, topic
        The stream, and the topic of the logs.

    """

    def __init__(self, transport: Transport, topic: str) -> None:
        self._transport = transport
        self._topic = topic
        self._open: set[int] = set()
        self._known: dict[int, tuple[int, int]] = {}

    def open(self, partition: int) -> None:
        """Note that a partition was opened."""
        self._open.add(partition)
        self._known.pop(partition, None)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._transport, name)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return bounds, perhaps as of the last question; see `Transport.bounds`."""
        if topic != self._topic or partition not in self._open:
            return self._transport.bounds(topic, partition)
        if partition not in self._known:
            self._known = self._transport.bounds_of(topic, self._open)
        return self._known.pop(partition)
