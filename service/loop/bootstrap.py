"""Train on files once, before a partition's first record; the first snapshot holds the trained state.

The partition starts with the model and the windows by key as of the last row. Counts and pending events are
not taken over: they describe the topics' records, and `verify` checks them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Final

from perceptron_core.formats.packed import pack, unpack
from service.checkpoints.config_fingerprint import FILES, START, START_MS
from service.clock import SYSTEM_CLOCK
from service.errors import ConfigurationError, InputFileError
from service.files.columns import Columns
from service.files.input_files import InputFiles, TopicFile, check_mappable, mapping_of
from service.files.labelled_examples import no_label_hint, nothing_used, rejection_hint
from service.files.sources import format_of, open_source
from service.logs import LOG_INTERVAL_SECONDS
from service.loop.restore import Restored
from service.mapping.notation import Notation
from service.messages.dead_letter import REASON
from service.messages.paths import event_time_ms
from service.partition.factory import check_times, for_file, make_processor
from service.partition.parts.counters import data_warnings, label_warnings
from service.partition.parts.kinds import ModelPart
from service.partition.parts.windows import Windows
from service.partition.processor import Processor
from service.settings.load import Settings
from service.stream.protocol import Transport, nested

_log = logging.getLogger(__name__)

_BATCH_RECORDS: Final = 256
_MAX_NAMED: Final = 3
_TAKEN_OVER: Final = frozenset({ModelPart.name, Windows.name, "vectors", "spelling", "classes"})
"""The parts of the state after the files that a partition takes over."""


class Bootstrap:
    """The initial state of partitions: untrained, or trained on the files of the setting `bootstrap`.

    Parameters
    ----------
    settings
        They name the files, and how their rows become events.

    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._names = [Path(name).name for name in settings.bootstrap]
        self._lock = Lock()
        self._trained: tuple[Mapping[str, Any], bytes] | None = None

    def start(self, restored: Restored) -> Restored:
        """Return a new task with the trained state; return a task that has a checkpoint unchanged.

        Raises
        ------
        ConfigurationError
            The partition has a model that was not trained on these files first.
        InputFileError
            A file cannot be read, or nothing can be learned from it.

        """
        if not self._names:
            return restored
        if restored.snapshot_offsets:
            self._check(restored)
            return restored
        details, packed = self.train()
        taken: dict[str, Any] = unpack(packed)
        restored.processor.restore({**restored.processor.state(), **taken})
        return replace(restored, origin={**restored.origin, **details})

    def _check(self, restored: Restored) -> None:
        before = restored.origin.get(FILES, ())
        if [*before] != self._names:
            origin = f"was trained on {', '.join(before)}" if before else "was not bootstrapped"
            raise ConfigurationError(
                f"bootstrap: partition {restored.partition} already has a model, which {origin}",
                hint="restore the former setting, or `checkpoint reset --from committed --bootstrap FILE`",
            )

    def train(self) -> tuple[Mapping[str, Any], bytes]:
        """Return what snapshots record of the training, and the packed state after it; train if necessary."""
        with self._lock:
            if self._trained is None:
                self._trained = self._train()
            return self._trained

    def _train(self) -> tuple[Mapping[str, Any], bytes]:
        settings = for_file(self._settings)
        check_times(settings)
        processor = make_processor(settings)
        _log.info("bootstrap: training on %s", ", ".join(settings.bootstrap))
        started = SYSTEM_CLOCK.monotonic()
        with _opened(settings) as files:
            self._learn(processor, files)
        self._report(processor, SYSTEM_CLOCK.monotonic() - started)
        counters = processor.counters
        details = {FILES: self._names, "events": counters.predictions, "mistakes": counters.mistakes}
        state = unpack(pack(processor.state()))
        return details, pack({name: state[name] for name in state.keys() & _TAKEN_OVER})

    def _learn(self, processor: Processor, files: InputFiles) -> None:
        start, records, n_named, n_late = self._settings.start_from, iter(files), 0, 0
        start_ms = event_time_ms(start) if start and files.are_timed else 0
        told_at = SYSTEM_CLOCK.monotonic()
        while batch := list(islice(records, _BATCH_RECORDS)):
            n_late += sum(record.timestamp_ms >= start_ms for record in batch)
            processing_time_ms = int(SYSTEM_CLOCK.time() * 1000) if files.are_timed else None
            dead_letters = processor.process_batch(batch, processing_time_ms).dead_letters
            for position, dead_letter in dead_letters[: _MAX_NAMED - n_named]:
                where, reason = files.location_of(batch[position]), dict(dead_letter.headers)[REASON].decode()
                _log.warning("bootstrap: %s: %s: `perceptron check-input` shows why", where, reason)
                n_named += 1
            if SYSTEM_CLOCK.monotonic() - told_at >= LOG_INTERVAL_SECONDS:
                told_at = SYSTEM_CLOCK.monotonic()
                _log.info("bootstrap: %d events so far", processor.counters.predictions)
        if n_late:
            what = "bootstrap: %d rows are learned twice if the topic has them"
            _log.warning(f"{what}: set start_from after the last row, and events.timestamp", n_late)
        for name, n_early in files.unsorted():
            _log.warning("bootstrap: %s: %d rows are out of time order", name, n_early)

    def _report(self, processor: Processor, seconds: float) -> None:
        """Log what was learned. Raises `InputFileError` if no event or no label was."""
        counters, settings = processor.counters, self._settings
        names, rejected = ", ".join(settings.bootstrap), counters.rejected.total()
        if not counters.predictions:
            raise InputFileError(
                f"bootstrap: {names}: {nothing_used(rejected, counters.skipped.total())}",
                hint=rejection_hint(counters.rejected, settings.events),
            )
        if not counters.labelled:
            raise InputFileError(
                f"bootstrap: {names}: no event has a label", hint=no_label_hint(settings.events)
            )
        _log.info(
            "bootstrap: trained on %d events in %.1f s: %d labelled, %d mistakes, %d rejected",
            *(counters.predictions, seconds, counters.labelled, counters.mistakes, rejected),
        )
        of_data = data_warnings(
            rejected, counters.consumed.total(), settings.classes, counters.confusion.truths
        )
        for warning in filter(None, (of_data, label_warnings(counters.totals(), counters.unmatched_ids))):
            _log.warning("bootstrap: %s", warning)


def _opened(settings: Settings) -> InputFiles:
    """Open the files, to be merged by event time where records have one."""
    with ExitStack() as stack:
        files = [_topic_file(stack, settings, path) for path in settings.bootstrap]
        stack.pop_all()
    return InputFiles(*files)


def _topic_file(stack: ExitStack, settings: Settings, path: str) -> TopicFile:
    table = settings.events
    if Path(path).exists() and format_of(path) is None:
        raise ConfigurationError(
            f"bootstrap: {path}: unknown extension",
            hint="rename it to .ndjson, .csv, .tsv, .parquet, .arrow, …, optionally followed by .gz",
        )
    columns = Columns(
        classes=frozenset(settings.classes),
        id_prefix=f"{path}-",  # rows of two files are different events
        mapping=mapping_of(table),
        notation=Notation.of(table),
        warn=lambda oddity, hint: _log.warning("bootstrap: %s; %s", oddity, hint),
    )
    source = open_source(path, columns=columns, max_message_bytes=settings.max_message_bytes)
    stack.enter_context(source)
    check_mappable(source, table)
    return TopicFile(source, settings.events_topic, table.timestamp)


def from_start(stream: Transport, settings: Settings, restored: Restored) -> Restored:
    """Return a new task that starts at `start_from`; return a task that has a checkpoint unchanged.

    It starts at the first record of that time or later, and skips earlier records that follow it.

    Raises `TransportError` where the stream cannot be read.
    """
    if not settings.start_from:
        return restored
    time_ms = event_time_ms(settings.start_from)
    if restored.snapshot_offsets:
        if restored.origin.get(START_MS, time_ms if START in restored.origin else None) != time_ms:
            start = "at another time" if START in restored.origin else "without it"
            what = "start_from has no effect: partition %d started %s, and continues from its checkpoint"
            _log.warning(what, restored.partition, start)
        return restored
    offsets = {partition: stream.first_at(*partition, time_ms) for partition in restored.offsets}
    for partition, (low, high) in stream.bounds_of(offsets).items():
        level = logging.WARNING if low < offsets[partition] == high else logging.INFO
        what = "start_from: %s[%d] starts at offset %d; the topic has offsets %d to %d"
        _log.log(level, what, *partition, offsets[partition], low, high - 1)
    restored.processor.start_ms = time_ms
    origin = {**restored.origin, START: nested(offsets), START_MS: time_ms}
    return replace(restored, offsets=offsets, origin=origin)
