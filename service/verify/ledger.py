"""Compare the expected and the written outputs of each id, and check the order of all outputs.

All expected and found records are written to a temporary database and sorted there by id. So memory holds the
records of one id at a time, whatever the length of the stream; the database takes some 300 bytes of disk for
each record.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from math import inf
from operator import attrgetter, itemgetter
from typing import Any, Final

from perceptron_core.formats.packed import pack, unpack
from service.messages.labels import Vocabulary
from service.stream.partitioner import partition_for_key
from service.verify.cases import Case, Completeness, Event, Label, WrittenOutput
from service.verify.findings import Fault, RecordPosition, Stream
from service.verify.outputs import OutputMessage, read_output

_SCHEMA: Final = """
CREATE TABLE entries (id BLOB, side, fields BLOB);
CREATE TABLE pairs (side, task INT, number INT, batch INT, q INT, at INT, labelled INT, mistake INT,
                    decided INT, n_partitions INT, id BLOB, source TEXT);
CREATE TABLE without_output (task INT, number INT, topic TEXT, q INT, at INT, id BLOB);
CREATE TABLE unmatched (q INT, at INT, is_new INT, what, id BLOB, event TEXT);
"""
_Firsts = Mapping[tuple[int, int], tuple[int, float]]
"""The number of the first event and the offset of the first prediction after all deleted events, by task and
partition."""


class Ledger:
    """The expected and the found records.

    Parameters
    ----------
    database
        A temporary database.
    stream
        The verified stream.

    Attributes
    ----------
    deleted
        The partitions of the predictions topic whose first records were deleted.
    completeness
        What is known of each task, by its number.
    is_mixed
        Whether a task may write to any partition; if records have ids as keys, it writes only to that of its
        number.

    """

    def __init__(self, database: sqlite3.Connection, stream: Stream) -> None:
        database.executescript(_SCHEMA)
        self._database, self._stream, self.flag = database, stream, stream.flag
        self._topic = stream.settings.predictions_topic
        self._n_partitions = len(stream.bounds(self._topic))
        self.deleted = stream.deleted(self._topic)
        self.completeness: defaultdict[int, Completeness] = defaultdict(Completeness)
        self.is_mixed = False
        self._timeout_ms = int(stream.settings.label_timeout_seconds * 1000)
        self._truth_on_timeout = stream.settings.events.truth_on_timeout(stream.settings.classes)
        self._n_without_event = self._n_without_prediction = self._n_shared = 0

    def read(self, ends: Sequence[tuple[int, int]]) -> None:
        """Read all outputs; those after the `ends` noted before may be of records that are not read."""
        vocabulary = Vocabulary(self._stream.settings.classes)
        for record, is_new in self._stream.written(self._topic, ends):
            position, q = RecordPosition.of(record), record.partition
            output = read_output(record, vocabulary)
            if output is None:
                self.flag(Fault.UNEXPECTED, position, "not a prediction and not an outcome")
                continue
            if output.contradiction:
                self.flag(Fault.WRONG, position, output.contradiction, output.event_id)
            key, fewer = output.event_id.encode(), range(self._n_partitions, q, -1)
            n_partitions = next((n for n in fewer if partition_for_key(key, n) == q), 0)
            written = WrittenOutput(position, output, is_new, n_partitions)
            self._insert("entries", key, output.kind, pack(written))

    def add_expected(self, event_id: str, expected: Event | Label) -> None:
        """Add an event or a label that should have an output."""
        side = "event" if isinstance(expected, Event) else "label"
        self._insert("entries", event_id.encode(), side, pack(expected))

    def _insert(self, table: str, *row: object) -> None:
        self._database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608

    def on_timeout(self, event: Event) -> Sequence[Label]:
        """Return the label that an event gets at its timeout, if any."""
        truth, time_ms = self._truth_on_timeout, event.timestamp_ms + self._timeout_ms
        return () if truth is None else [Label(*event[:4], time_ms, truth, event.number)]

    def add_dead_letter(
        self, position: RecordPosition, origin: RecordPosition, task: int, number: int, batch: int
    ) -> None:
        """Note the source record of a dead letter."""
        source = self._source(origin, task, batch)
        self._insert("pairs", "dead letter", task, number, batch, *position[1:], 0, 0, 0, 0, b"", source)

    def _source(self, position: RecordPosition, task: int, batch: int) -> str:
        """Return the source partition of a record if the order is known only within each partition."""
        return str(position._replace(offset=None)) if batch in self.completeness[task].unordered else ""

    def add_pair(self, written: WrittenOutput, cause: Event | Label, *, is_compared: bool) -> None:
        """Note an output and the record that it belongs to."""
        output, position = written.output, written.position
        self._stream.report.predictions += output.kind == "prediction"
        self._stream.report.outcomes += output.kind == "outcome"
        where = cause.task, cause.number, cause.batch, *position[1:]
        flags = is_compared, is_compared and output.mistake, output.is_decided
        source = self._source(cause.position, cause.task, cause.batch)
        key = output.event_id.encode()
        self._insert("pairs", output.kind, *where, *flags, written.n_partitions, key, source)

    def add_comparison(self, event: Event, *, is_mistake: bool) -> None:
        """Note a labelled prediction without an outcome."""
        where = event.task, event.number, event.batch, 0, 0
        self._insert("pairs", "comparison", *where, 1, is_mistake, 0, 0, b"", "")

    def add_event_without_output(self, event: Event, event_id: str) -> None:
        """Note an event without its prediction."""
        self._insert("without_output", event.task, event.number, *event.position, event_id.encode())

    def add_unmatched(self, written: WrittenOutput, events: Sequence[Event]) -> None:
        """Note an output that belongs to none of the events with its id."""
        output, key = written.output, written.output.event_id.encode()
        event = str(events[0].position) if events else ""
        self._insert("unmatched", *written.position[1:], written.is_new, output.kind, key, event)

    def check(self) -> None:
        """Check the records of each id, then unmatched records, then the order."""
        rows = self._database.execute("SELECT id, side, fields FROM entries ORDER BY id, side, rowid")
        for key, group in groupby(rows, itemgetter(0)):
            sides: defaultdict[str, list[Any]] = defaultdict(list)
            for _, side, (position, *fields) in ((key, side, unpack(packed)) for key, side, packed in group):
                sides[side].append((RecordPosition(*position), *fields))
            self._check_records_of(key.decode(), sides)
        firsts = self._firsts()
        self.is_mixed |= any(task != q for task, q in firsts)
        self._check_events_without_output(firsts)
        self._check_unmatched(firsts)
        self._check_order()
        self._check_partitions(firsts)
        for number, what in (
            (self._n_shared, "event ids in several partitions"),
            (self._n_without_prediction, "events whose predictions are deleted"),
            (self._n_without_event, "predictions and outcomes whose events were not read"),
        ):
            self._stream.report.notes += [f"{number} {what}"] * bool(number)

    def _check_records_of(self, event_id: str, sides: Mapping[str, Sequence[Any]]) -> None:
        """Check the records of an id, if they belong to one task.

        A prediction with the time of none of the events may be of a deleted event of another task.
        """
        events = sorted((Event(*each) for each in sides["event"]), key=_in_order)
        labels = sorted((Label(*each) for each in sides["label"]), key=_in_order)
        predictions, outcomes = (
            _as_written([WrittenOutput(at, OutputMessage(*f), *rest) for at, f, *rest in sides[side]], events)
            for side in ("prediction", "outcome")
        )
        tasks = {event.task for event in events}
        sources = {self._source(event.position, event.task, event.batch) for event in events} - {""}
        times = {event.timestamp_ms for event in events}
        is_of_another = any(not each.is_complete for n, each in self.completeness.items() if n not in tasks)
        is_of_another &= any(each.output.event_time_ms not in times for each in predictions)
        if len(tasks) == 1 and len(sources) <= 1 and not is_of_another:
            Case(event_id, events, labels, predictions, outcomes, self).check()
        elif not tasks:
            for written in (*predictions, *outcomes):
                self.add_unmatched(written, ())
        else:
            self._n_shared += 1
            for task in tasks:
                self.completeness[task].has_shared_ids = True

    def _firsts(self) -> _Firsts:
        """Return the first matched event and prediction, by (task, partition)."""
        what = "q, MIN(number), MIN(CASE WHEN number >= ? THEN at END)"
        query = f"SELECT {what} FROM pairs WHERE side = 'prediction' AND task = ? GROUP BY q"  # noqa: S608
        return {
            (task, q): (number, inf if at is None else at)
            for task, known in self.completeness.items()
            for q, number, at in self._all(query, known.deleted_until, task)
        }

    def _check_events_without_output(self, firsts: _Firsts) -> None:
        """Check events without a prediction; it may have been deleted if it preceded all remaining ones."""
        for task, number, *position, key in self._all("SELECT * FROM without_output ORDER BY task, number"):
            own = {task, partition_for_key(key, self._n_partitions)}
            partitions = self.deleted if self.is_mixed else self.deleted & own
            if any(number < firsts.get((task, q), (inf, inf))[0] for q in partitions):
                self._n_without_prediction += 1
            elif self.completeness[task].n_rejected > 0:
                self.completeness[task].n_rejected -= 1
            else:
                message = "missing output: this event has neither a prediction nor a dead letter"
                self.flag(Fault.MISSING, RecordPosition(*position), message, key.decode())

    def _check_unmatched(self, firsts: _Firsts) -> None:
        """Check outputs without an event; it may have been deleted if they precede all other outputs."""
        is_exact, seen = all(task.is_exact for task in self.completeness.values()), {n for n, _ in firsts}
        partial = {n: task for n, task in self.completeness.items() if task.has_holes or not task.is_complete}
        for q, at, is_new, what, key, event in self._all("SELECT * FROM unmatched ORDER BY q, at"):
            lacking = {
                n for n, task in partial.items() if task.has_holes or at < firsts.get((n, q), (inf, inf))[1]
            }
            is_before = bool(lacking) and (
                self.is_mixed
                or q in lacking
                or not lacking <= seen  # an empty partition may have lost any
                or any(partition_for_key(key, n) in lacking for n in range(1, self._n_partitions))
            )
            if is_new:
                self._stream.report.not_yet_evaluated += 1
            elif is_before if what == "prediction" else not is_exact:
                self._n_without_event += 1
            else:
                fault = Fault.DUPLICATE if event else Fault.UNEXPECTED
                message = f"duplicate {what} of event {event}" if event else f"{what} without an event"
                self.flag(fault, RecordPosition(self._topic, q, at), message, key.decode())

    def _check_order(self) -> None:
        """Check that outputs are in the order of their records."""
        last: defaultdict[tuple[int, int, bool, str], int] = defaultdict(int)
        rows = self._all(
            "SELECT side, task, q, at, number, id, source, id IN (SELECT id FROM unmatched) FROM pairs"
            " WHERE side != 'comparison' ORDER BY q, at"
        )
        for side, task, q, at, number, key, source, has_surplus in rows:
            known, is_dead_letter = self.completeness[task], side == "dead letter"
            is_ambiguous = known.has_holes or (known.unordered and has_surplus)
            if is_ambiguous or (side == "outcome" and not known.is_exact):
                continue  # it may belong to another record with its id
            sequence = task, q, is_dead_letter
            if number < max(last[*sequence, source], last[*sequence, ""]):
                topic = self._stream.settings.dead_letters_topic if is_dead_letter else self._topic
                message = "the preceding outputs belong to later records"
                self.flag(Fault.OUT_OF_ORDER, RecordPosition(topic, q, at), message, key.decode() or None)
            last[*sequence, source] = max(number, last[*sequence, source])

    def _check_partitions(self, firsts: _Firsts) -> None:
        """Check that outputs are in the partitions of their ids, for the present or an earlier number.

        Partitions are only added: an output for fewer partitions must precede all outputs for more.
        """
        rows = self._all(
            "SELECT task, number, batch, n_partitions, q, at, id FROM pairs"
            " WHERE side IN ('prediction', 'outcome') AND n_partitions < ? ORDER BY q, at",
            self._n_partitions,
        )
        for task, number, batch, n_partitions, q, at, key in rows:
            later = (
                first for (n, other), (first, _) in firsts.items() if n == task and other >= n_partitions
            )
            # If records are missing, this output may belong to a missing record with the same id.
            is_placed = (
                not self.completeness[task].has_holes and batch not in self.completeness[task].unordered
            )
            if not n_partitions or (is_placed and min(later, default=inf) < number):
                due = partition_for_key(key, self._n_partitions)
                message = f"wrong partition: its id belongs to partition {due}"
                self.flag(Fault.WRONG, RecordPosition(self._topic, q, at), message, key.decode())

    def sums(self, task: int) -> Mapping[int, Mapping[str, int]]:
        """Return the counts from the outputs of each batch of a task, by its number."""
        query = "SELECT batch, SUM(labelled), SUM(mistake), SUM(decided) FROM pairs WHERE task = ? GROUP BY 1"
        return {at: {"labelled": n, "mistakes": m, "decided": d} for at, n, m, d in self._all(query, task)}

    def _all(self, query: str, *values: float) -> Iterator[tuple[Any, ...]]:
        return self._database.execute(query, values)


_in_order: Final = attrgetter("task", "number")
"""The order of processing."""


def _as_written(outputs: Sequence[WrittenOutput], events: Sequence[Event]) -> Sequence[WrittenOutput]:
    """Sort outputs to events: by offset in one partition, by the event times across several."""
    left: defaultdict[int, deque[WrittenOutput]] = defaultdict(deque)
    for each in sorted(outputs, key=attrgetter("n_partitions", "position")):
        left[each.position.partition].append(each)
    ordered: list[WrittenOutput] = []
    for event in events if len(left) > 1 else ():  # partitions were added in between
        due = [each for each in left.values() if each and each[0].output.event_time_ms == event.timestamp_ms]
        fitting = [each for each in due if each[0].output.truth in event.truths]  # of events of one time
        ordered += [each.popleft() for each in (fitting or due)[:1]]
    return [*ordered, *chain.from_iterable(left.values())]
