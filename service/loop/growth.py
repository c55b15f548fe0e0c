"""Follow partitions that are added to the events topic."""

from __future__ import annotations

import logging
from typing import Final

from service.clock import Clock
from service.errors import TopicMissing, TransportUnavailable
from service.settings.load import Settings
from service.stream import Transport
from service.transport.topics import ensure_topics, output_topics

_log = logging.getLogger(__name__)

_CHECK_SECONDS: Final = 3.0
"""How often to ask how many partitions the events have; a member of the group learns of it within 5 s."""


class Growth:
    """Adds partitions to the other topics when the events topic gets more.

    Parameters
    ----------
    transport, settings
        The stream, and the names of its topics, which exist when this is made.
    clock
        Decides when to look again.

    Attributes
    ----------
    n_partitions : int
        How many partitions each topic has, as far as is known.

    """

    def __init__(self, transport: Transport, settings: Settings, clock: Clock) -> None:
        self._transport = transport
        self._settings = settings
        self._clock = clock
        self.n_partitions = ensure_topics(transport, settings)
        self._next_check_at = clock.monotonic() + _CHECK_SECONDS
        self._is_missing = False

    def check(self) -> None:
        """Check whether the events topic has grown, if the next check is due.

        Raises
        ------
        ConfigurationError, AccessRefused
            Another topic has fewer partitions, and may not be given more.
        TopicMissing
            A topic was deleted.

        """
        if self._clock.monotonic() < self._next_check_at:
            return
        self._next_check_at = self._clock.monotonic() + _CHECK_SECONDS
        try:
            if self._transport.partition_count(self._settings.events_topic) > self.n_partitions:
                self._follow()
            for topic in output_topics(self._settings):
                self._transport.partition_count(topic)
        except TransportUnavailable:
            return  # whoever reads or writes next will say so
        except TopicMissing as error:
            if not self._is_missing:  # a cluster that is busy may not know of all topics everywhere
                self._is_missing = True
                return
            raise TopicMissing(
                f"{error}: it was deleted while the service ran",
                hint="restore the topic, or start again: `create_topics` has an empty one made",
            ) from error
        self._is_missing = False

    def reach(self, partition: int) -> None:
        """Make sure that every topic has this partition. Raises as `look`, and `TransportUnavailable`."""
        if partition >= self.n_partitions:
            self._follow()
        if partition >= self.n_partitions:
            topic = self._settings.events_topic
            raise TransportUnavailable(f"{topic}[{partition}] is not known yet to all of the cluster")

    def _follow(self) -> None:
        before, self.n_partitions = self.n_partitions, ensure_topics(self._transport, self._settings)
        if self.n_partitions <= before:
            return
        _log.warning(
            "%s has %d partitions now, %d before: keys move to other partitions, and a label that goes to"
            " another one than its event is counted as an orphan",
            *(self._settings.events_topic, self.n_partitions, before),
            extra={"partitions": self.n_partitions, "partitions_before": before},
        )
