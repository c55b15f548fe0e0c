"""The models of the partitions that this process serves, as other threads find them."""

from __future__ import annotations

from service.errors import NoSuchModel
from service.intake.intakes import Intakes
from service.messages.labels import Vocabulary
from service.monitoring.error_history import History
from service.monitoring.live_model import LiveModel
from service.monitoring.questions import QuestionReader
from service.monitoring.recent_predictions import RecentAnswers
from service.partition.processor import Processor
from service.partitioner import partition_at_work, partition_for_key
from service.settings.load import Settings


class LiveModels:
    """The models of the partitions that this process serves.

    Parameters
    ----------
    settings
        Say how messages are read, and whether what is in them may be shown.

    """

    def __init__(self, settings: Settings) -> None:
        self._predictions_topic = settings.predictions_topic
        self._vocabulary = Vocabulary(settings.classes)
        self.questions = QuestionReader(settings)
        self._shows_events = settings.shows_events
        self._is_mapped = settings.events.is_mapped
        self.asks_as_mapped = settings.events.are_json_objects
        """Whether events in requests have the schema of their topic."""
        self._open_models: dict[int, LiveModel] = {}
        self.histories: dict[int, History] = {}
        """By partition, also of those that were here and are no longer."""
        self._recent: dict[int, RecentAnswers] = {}
        self.intakes = Intakes(settings)
        self.n_partitions = 0
        """Of the events topic; 0 before it is known."""

    def open(self, partition: int, processor: Processor) -> LiveModel:
        """Show a partition's model; what is known of its past in this process goes on."""
        self.questions.follow(processor.decoder)
        history = self.histories.setdefault(partition, History())
        recent = None
        if self._shows_events:
            recent = self._recent.setdefault(partition, RecentAnswers(self._predictions_topic))
            recent.decoder = processor.decoder if self._is_mapped else None
        intake = self.intakes.open(partition, processor)
        model = LiveModel(partition, processor, self._vocabulary, history, recent, intake)
        self._open_models[partition] = model
        return model

    def close(self, partition: int) -> None:
        """Show a partition's model no longer."""
        self._open_models.pop(partition, None)
        self.intakes.close(partition)

    def partitions(self) -> list[int]:
        """List the partitions served here."""
        return sorted(self._shown())

    def _shown(self) -> dict[int, LiveModel]:
        """Return the models that have something to show: one that is being opened has no counts yet."""
        return {p: model for p, model in dict(self._open_models).items() if model.published is not None}

    def get(self, partition: int | None = None, event_id: str | None = None) -> LiveModel:
        """Return the model of a partition.

        With no partition named: that of the one an event with this id as its key would go to, if it is
        served here, else the first that is.

        Raises
        ------
        NoSuchModel
            It is not served here, or none is.

        """
        models = self._shown()
        if partition is None and models:
            partition = partition_at_work(models, event_id, self.n_partitions)
        if partition is None or partition not in models:
            here = ", ".join(map(str, sorted(models))) or "none"
            what = "no partition" if partition is None else f"partition {partition}: not"
            raise NoSuchModel(
                f"{what} served by this process; served here: {here}",
                hint="another member of the group may have it; /readyz shows the state of this one",
            )
        return models[partition]

    def owns(self, partition: int, event_id: str) -> bool:
        """Return whether an event with this id as its key goes to `partition`; False if not known."""
        n_partitions = self.n_partitions
        return n_partitions > 0 and partition_for_key(event_id.encode(), n_partitions) == partition
