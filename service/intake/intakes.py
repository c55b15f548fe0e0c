"""The intakes of the partitions that one process serves."""

from __future__ import annotations

from collections.abc import Collection

from service.intake.known import KnownIds
from service.intake.partition import PartitionIntake
from service.messages.labels import Vocabulary
from service.partition.processor import Processor
from service.settings.load import Settings


class Intakes:
    """The intakes of the partitions that this process serves.

    Parameters
    ----------
    settings
        Name the topics and the classes.

    """

    def __init__(self, settings: Settings) -> None:
        self._vocabulary = Vocabulary(settings.classes)
        self._truth_on_timeout = settings.events.truth_on_timeout(settings.classes)
        self._predictions_topic = settings.predictions_topic
        self._intakes: dict[int, PartitionIntake] = {}

    def open(self, partition: int, processor: Processor) -> PartitionIntake:
        """Accept submissions for a partition from now on."""
        known = KnownIds(processor, self._vocabulary, self._truth_on_timeout)
        intake = self._intakes[partition] = PartitionIntake(partition, known, self._predictions_topic)
        return intake

    def close(self, partition: int) -> None:
        """Accept none for a partition any more."""
        if (intake := self._intakes.pop(partition, None)) is not None:
            intake.close()

    def get(self, partition: int) -> PartitionIntake | None:
        """Return the intake of a partition; None if it is not served here."""
        return self._intakes.get(partition)

    def all(self) -> Collection[PartitionIntake]:
        """Return the intakes of all partitions that are served."""
        return self._intakes.values()
