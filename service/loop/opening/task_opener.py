"""Open the tasks of assigned partitions, as last committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from threading import Event, Thread
from typing import Final, cast

from service.clock import Clock
from service.formats.sources import Sources
from service.formats.topics import needs_schemas
from service.loop.growth import Growth
from service.loop.opening.bootstrap import Bootstrap
from service.loop.opening.log_ends import LogEnds
from service.loop.opening.restoring import Opening, Restoration, Restoring
from service.loop.opening.standby import Standby
from service.loop.task import Task
from service.loop.watched_writer import WatchedWriter
from service.monitoring.health import Health, Stall
from service.monitoring.live_models import LiveModel, LiveModels
from service.monitoring.metrics import Metrics
from service.partition.examples import LearnedExamples, Observer
from service.partition.processor import Processor
from service.settings.load import Settings
from service.stream import Consumer, RecordLimit, Transport

_SHORT: Final = RecordLimit(16_384, 16_384)
_ENDING_SECONDS: Final = 2.0
Beside = Callable[[Callable[[], None]], None]


def at_once(run: Callable[[], None]) -> None:
    """Restore partitions before the loop goes on."""
    run()


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
    clock
        The time.
    beside
        Lets what restores partitions run, and does not wait for it; None: on a thread.

    Attributes
    ----------
    log_ends : LogEnds
        To be asked before partitions are handed over.

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
        clock: Clock,
        beside: Beside | None = None,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._live = live
        self._observe = observe
        self._clock = clock
        self._sources = (
            Sources(settings, clock, metrics.format_defects.inc) if needs_schemas(settings) else None
        )
        self._bootstrap = Bootstrap(settings)
        self._beside = beside or self._on_a_thread
        self.log_ends = LogEnds(transport, settings.checkpoints_topic)
        self._openings: dict[int, Opening] = {}
        self._begun: list[Opening] = []
        """Those of them whose restoring has yet to begin."""
        self._threads: list[Thread] = []
        self._is_over = Event()
        self._standby = (
            Standby(transport, settings, clock, self._is_over.is_set) if settings.standby else None
        )
        self._owned: set[int] = set()
        self._consumer: Consumer
        self._growth: Growth
        self._restoring: Restoring

    def join(self, consumer: Consumer, growth: Growth) -> None:
        """Take note of the member of the group whose partitions these are."""
        self._consumer, self._growth = consumer, growth
        self._restoring = Restoring(
            self._transport,
            self._settings,
            consumer,
            self._bootstrap,
            self._standby,
            self._is_over.is_set,
        )

    def begin(self, partition: int, *, cuts_letters: bool) -> None:
        """Begin to take a partition over; `restore` goes on with all of them.

        Parameters
        ----------
        partition
            Its number.
        cuts_letters
            Whether dead letters are cut to 16 KiB, whatever their topic is said to take.

        Raises
        ------
        ServiceError
            As `Consumer.writer`.

        """
        self._growth.reach(partition)
        self._owned.add(partition)
        writer = WatchedWriter(self._consumer.writer(partition), self._health)
        self._begun.append(Opening(partition, writer, cuts_letters, self._clock.monotonic()))
        self._openings[partition] = self._begun[-1]
        self._report()

    def restore(self) -> None:
        """Restore what was begun, beside the loop."""
        begun, self._begun = self._begun, []
        if begun:
            self._beside(partial(self._restoring.run, begun))

    def keep_others(self) -> None:
        """Keep the states of partitions that other members own, if `standby` says so, beside the loop."""
        if (standby := self._standby) is None:
            return
        self._metrics.n_standby = len(standby)
        if standby.is_due and not self._openings and self._consumer.has_joined():
            standby.begin()
            self._beside(partial(standby.advance, {*range(self._growth.n_partitions)} - self._owned))

    def restored(self) -> Iterator[tuple[int, Callable[[], Task]]]:
        """Yield the partitions that were restored, or could not be, and what makes their tasks.

        That raises `ServiceError`, as `restore` of the recovery and `Consumer.take_over`.
        """
        for partition, opening in [*self._openings.items()]:
            if opening.found.done():
                del self._openings[partition]
                self._report()
                yield partition, partial(self._task, opening)

    def _report(self) -> None:
        """Say what is being opened, and since when: nobody else would notice if it did not end."""
        first = min(self._openings.values(), key=lambda each: each.since, default=None)
        if first is None:
            self._health.beside = None
            return
        more = f" and {len(self._openings) - 1} more" if len(self._openings) > 1 else ""
        self._health.beside = Stall(first.since, f"the opening of partition {first.partition}{more}")

    @property
    def is_busy(self) -> bool:
        """Whether a partition is being opened."""
        return bool(self._openings)

    def is_opening(self, partition: int) -> bool:
        """Return whether this one is."""
        return partition in self._openings

    def drop(self, partition: int) -> None:
        """Give a partition up, which is revoked; cancel its opening, if there is one."""
        self._owned.discard(partition)
        if (opening := self._openings.pop(partition, None)) is not None:
            opening.drop()
            self._report()

    def _task(self, opening: Opening) -> Task:
        try:
            return self._make(opening, opening.found.result())
        except BaseException:
            opening.writer.close()
            raise

    def _make(self, opening: Opening, restoration: Restoration) -> Task:
        partition, restored = opening.partition, restoration.restored
        letter_limit = self._letter_limit(restoration.limits, cuts_letters=opening.cuts_letters)
        live = self._live.open(partition, restored.processor) if self._live else None
        self.log_ends.forget(partition)
        task = Task(
            partition,
            restored,
            opening.writer,
            transport=cast("Transport", self.log_ends),
            settings=self._settings,
            metrics=self._metrics,
            live=live,
            letter_limit=letter_limit,
            sources=self._sources,
            clock=self._clock,
        )
        restored.processor.observe = self._observer(partition, restored.processor, live)
        if restored.processor.schemas is not None:
            restored.processor.schemas.note_defect = self._metrics.format_defects.inc
        return task

    def close(self) -> None:
        """Wait for what is being restored, which nobody needs any more."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(_ENDING_SECONDS)

    def _on_a_thread(self, run: Callable[[], None]) -> None:
        self._threads = [each for each in self._threads if each.is_alive()]
        self._threads.append(Thread(target=run, name="opening", daemon=True))
        self._threads[-1].start()

    def _letter_limit(self, limits: Mapping[str, RecordLimit], *, cuts_letters: bool) -> RecordLimit:
        """Return how large a dead letter may be."""
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
