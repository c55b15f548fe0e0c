"""Open the tasks of assigned partitions, as last committed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from service.checkpoints.bases import find_base
from service.clock import Clock
from service.errors import CheckpointError
from service.formats.sources import Sources
from service.formats.topics import needs_schemas
from service.loop.growth import Growth
from service.loop.recovery import Restored, restore
from service.loop.task import Task
from service.loop.watched_writer import WatchedWriter
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModel, LiveModels
from service.monitoring.metrics import Metrics
from service.monitoring.tracing import BatchTracer
from service.partition.examples import LearnedExamples, Observer
from service.partition.processor import Processor
from service.settings.load import Settings
from service.sharing.lanes import Lanes
from service.sharing.participant import Participant
from service.stream import Consumer, RecordLimit, Transport, Writer
from service.transport.topics import output_topics

_SHORT: Final = RecordLimit(16_384, 16_384)


class TaskOpener:
    """Takes partitions over from their former owners and restores what these have committed.

    Parameters
    ----------
    transport, settings, metrics, health
        The stream, the settings, and where to report.
    live
        Where models are published for the API and the page; None: nowhere.
    observe
        Called with the labelled predictions of each batch, in order, before it is committed.
    tracer
        Makes a span for each batch.
    clock
        The time.

    Attributes
    ----------
    lanes : Lanes or None
        What partitions that share their model have contributed; None where each has its own.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        metrics: Metrics,
        *,
        health: Health,
        live: LiveModels | None,
        observe: Observer | None,
        tracer: BatchTracer,
        clock: Clock,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._live = live
        self._observe = observe
        self._tracer = tracer
        self._clock = clock
        self._sources = (
            Sources(settings, clock, metrics.format_defects.inc) if needs_schemas(settings) else None
        )
        self.lanes = metrics.lanes = Lanes(transport, settings, clock) if settings.share_model else None
        self._consumer: Consumer
        self._growth: Growth

    def join(self, consumer: Consumer, growth: Growth) -> None:
        """Take note of the member of the group whose partitions these are."""
        self._consumer, self._growth = consumer, growth

    def open(self, partition: int, *, cuts_letters: bool) -> Task:
        """Take a partition over: wait until its former owner can commit nothing more, restore.

        Parameters
        ----------
        partition
            Its number.
        cuts_letters
            Whether dead letters are cut to 16 KiB, whatever their topic is said to take.

        Raises
        ------
        ServiceError
            As `restore` and the stream's methods.

        """
        self._growth.reach(partition)
        letter_limit = self._ask_limits(cuts_letters=cuts_letters)
        budget = None if self.lanes is None else self.lanes.budget
        writer = WatchedWriter(self._writer(partition), self._health, budget)
        try:
            restored = self._restore(partition)
            live = self._live.open(partition, restored.processor) if self._live else None
            task = Task(
                partition,
                restored,
                writer,
                transport=self._transport,
                settings=self._settings,
                metrics=self._metrics,
                live=live,
                letter_limit=letter_limit,
                sources=self._sources,
                share=self._participant(partition, restored.processor),
                tracer=self._tracer,
                clock=self._clock,
            )
        except BaseException:
            writer.close()
            raise
        restored.processor.observe = self._observer(partition, restored.processor, live)
        if restored.processor.schemas is not None:
            restored.processor.schemas.note_defect = self._metrics.format_defects.inc
        return task

    def _writer(self, partition: int) -> Writer:
        return self._consumer.writer(partition, self._settings.checkpoints_topic)

    def _restore(self, partition: int) -> Restored:
        """Restore what was committed; a process that was frozen meanwhile may have read what is another's."""
        try:
            return self._read_all(partition, self._consumer.committed(partition))
        except CheckpointError:
            self._writer(partition).close()  # raises if the partition is not ours any more
            raise

    def _read_all(self, partition: int, committed: Mapping[str, int]) -> Restored:
        if self.lanes is None:
            return restore(self._transport, self._settings, partition, committed)
        self.lanes.poll()
        latest = self.lanes.latest(partition)
        restored = restore(self._transport, self._settings, partition, committed, self.lanes)
        if restored.processor.rounds is not None:
            self.lanes.check(partition, restored.processor.rounds, latest)
        return restored

    def _participant(self, partition: int, processor: Processor) -> Participant | None:
        if self.lanes is None or processor.rounds is None:
            return None
        return Participant(
            partition,
            processor.rounds,
            self.lanes,
            find_base=partial(find_base, self._transport, self._settings, partition),
            count_lanes=lambda: self._growth.n_partitions,
            transport=self._transport,
            settings=self._settings,
            clock=self._clock,
        )

    def _ask_limits(self, *, cuts_letters: bool) -> RecordLimit:
        """Ask what each topic takes, as batches have to fit them all; return what a dead letter may take."""
        limits = {topic: self._transport.record_limit(topic) for topic in output_topics(self._settings)}
        if self.lanes is not None:
            self.lanes.check_limit(limits[self._settings.mixes_topic])
        limit = limits[self._settings.dead_letters_topic]
        return min(limit, _SHORT) if cuts_letters else limit

    def _observer(self, partition: int, processor: Processor, live: LiveModel | None) -> Observer:
        observers = [self._metrics.watch(partition, processor.learner)]
        observers += [live.observe] if live else []
        observers += [self._observe] if self._observe else []
        if len(observers) == 1:
            return observers[0]

        def tell(learned: LearnedExamples) -> None:
            for observe in observers:
                observe(learned)

        return tell
