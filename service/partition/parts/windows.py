"""Windows by key: features that aggregate the earlier events of each key over spans of event time.

A span is divided into 16 cells, aligned to the Unix epoch: an event at time t falls in cell ⌊16·t/span⌋. A
value at time t aggregates the cells from that of t − span to that of t, so it covers the last span and at
most a sixteenth more. Cells without events take no memory. `windows.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from perceptron_core import DamagedError
from perceptron_core.formats.packed import Packed, PackedLater, pack
from perceptron_core.validation import MAX_MAGNITUDE
from service.messages.decoder import Incoming, WindowInput
from service.messages.labels import TrueLabel
from service.partition.parts.part import Part, PartMetric
from service.partition.parts.window_cells import EVENTS, KINDS, Cells, WindowTotals
from service.partition.parts.window_keys import (
    KeyTable,
    changes_of,
    forget_changes,
    grown,
    numbers_of,
    with_changes,
    written,
)
from service.settings.parts import EVENT, LABEL, SINCE, WindowSettings, span_ms

if TYPE_CHECKING:
    from service.partition.examples import Example

_CELLS = 16
_FIRST_ROWS: Final = 16
_LATEST_MS = 1 << 58
_MAX_VALUE = float(MAX_MAGNITUDE)


class Output(NamedTuple):
    """An aggregate, which is a feature for each span."""

    kind: int
    """Kind of the aggregate, as in `WindowTotals.value`."""
    column: int
    """Position among the numbers or hashes that `take` gets."""
    names: Sequence[str]
    """Name of the feature of each span."""


def put_all(
    windows: list[Window], features: dict[str, Any], windowed: tuple[WindowInput, ...], timestamp_ms: int
) -> None:
    """Add the features of an event with `Window.put`, for each window for which it has a key."""
    for n in range(len(windows)):
        window, inputs = windows[n], windowed[n]
        if inputs[0]:
            window.add_features(features, inputs[0], timestamp_ms)


def take_all(windows: list[Window], windowed: tuple[WindowInput, ...], timestamp_ms: int) -> bool:
    """Count an event with `Window.take`, likewise; return whether it was too late for any window."""
    is_late = False
    for n in range(len(windows)):
        window, inputs = windows[n], windowed[n]
        if inputs[0] and window.count_event(inputs[0], timestamp_ms, inputs[1], inputs[2]):
            is_late = True
    return is_late


class Window:
    """Aggregates the events of each key.

    Parameters
    ----------
    spans_ms
        Lengths of the spans, in milliseconds.
    n_numbers, n_hashes
        How many numbers and hashes of values each event has.
    outputs
        The aggregates.
    since
        Name of the feature with the seconds since the last event; empty: none.
    max_keys
        Largest number of keys.

    Attributes
    ----------
    keys : KeyTable
        The keys, the least recently used first.
    changed : array of int
        1 for each key's row whose time or list of cells changed since `forget_changes`.

    """

    def __init__(
        self,
        spans_ms: Sequence[int],
        n_numbers: int,
        n_hashes: int,
        outputs: Sequence[Output],
        since: str,
        max_keys: int,
    ) -> None:
        self._spans_ms = array("q", spans_ms)
        self._n_spans, self._n_outputs = len(spans_ms), len(outputs)
        self._kinds = array("i", [output.kind for output in outputs])
        self._columns = array("i", [output.column for output in outputs])
        self._names = [output.names[span] for span in range(len(spans_ms)) for output in outputs]
        self._since = since
        self._shape = n_numbers, n_hashes
        self._max_keys = max_keys
        self._clear()

    def _clear(self) -> None:
        """Forget all keys."""
        kept = {KINDS[name] for name in ("rate", "std", "min", "max")} & {*self._kinds}
        self.keys = KeyTable(self._max_keys)
        self._cells = Cells(
            *self._shape,
            has_labels=KINDS["rate"] in kept,
            has_squares=KINDS["std"] in kept,
            has_least=KINDS["min"] in kept,
            has_most=KINDS["max"] in kept,
        )
        self._totals = WindowTotals(self._cells)
        self._newest_ms = array("q")
        """For each row, the time of the newest event."""
        self._heads = array("i")
        """For each row and span, the newest cell; -1 if there is none."""
        self.changed = array("B")

    def add_features(self, features: dict[str, Any], key: int, timestamp_ms: int) -> None:
        """Add the features of an event at this time, from earlier events, without counting it."""
        row, totals = self.keys.find(key), self._totals
        for span in range(self._n_spans):
            totals.begin()
            if row >= 0:
                self._add_up(row * self._n_spans + span, self._number(timestamp_ms, span))
            for output in range(self._n_outputs):
                value = totals.value(self._kinds[output], self._columns[output])
                name = self._names[span * self._n_outputs + output]
                if -_MAX_VALUE <= value <= _MAX_VALUE:  # False for NaN
                    features[name] = value
                else:
                    features.pop(name, None)
        if self._since:
            if row >= 0 and timestamp_ms >= self._newest_ms[row]:
                features[self._since] = (timestamp_ms - self._newest_ms[row]) / 1000.0
            else:
                features.pop(self._since, None)

    def count_event(self, key: int, timestamp_ms: int, numbers: list[float], hashes: list[int]) -> bool:
        """Count an event; return whether it was too late for the cells of a span.

        Parameters
        ----------
        key
            A hash of the key.
        timestamp_ms
            Event time.
        numbers
            Numbers to aggregate; NaN for a missing one.
        hashes
            Hashes of values to count; 0 for a missing one.

        """
        row = self.keys.find(key)
        if row < 0:
            row = self._add_key(key, timestamp_ms)
        else:
            self.keys.make_newest(row)
            self._newest_ms[row] = max(self._newest_ms[row], timestamp_ms)
        self.changed[row] = 1
        is_late = False
        for span in range(self._n_spans):
            number = self._number(timestamp_ms, span)
            least = self._number(self._newest_ms[row], span) - _CELLS
            if number < least:
                is_late = True
            else:
                cell = self._cell(row * self._n_spans + span, number, least)
                self._cells.count_event(cell, numbers, hashes)
        return is_late

    def count_label(self, key: int, timestamp_ms: int, before: int, truth: int) -> None:
        """Count the label of an event at this time in the cells that still exist; see `Cells.count_label`."""
        row, cells = self.keys.find(key), self._cells
        if row < 0 or not cells.has_labels:
            return
        for span in range(self._n_spans):
            number = self._number(timestamp_ms, span)
            cell = self._heads[row * self._n_spans + span]
            while cell >= 0 and cells.number[cell] > number:
                cell = cells.next[cell]
            if cell >= 0 and cells.number[cell] == number:
                cells.count_label(cell, before, truth)

    @property
    def size_bytes(self) -> int:
        """Memory in bytes."""
        rows = len(self._newest_ms) * (9 + 4 * self._n_spans)
        return self.keys.size_bytes + rows + self._cells.size_bytes

    def state(self, rows: Any = None) -> dict[str, Any]:  # noqa: ANN401 - an array, or None
        """Return the state as plain values; with `rows`, these rows, and the changes of keys and cells."""
        n, keys, cells = self.keys.n, self.keys, self._cells
        newest, heads = written(self._newest_ms, n, rows), written(self._heads, n, rows, self._n_spans)
        if rows is None:
            kept = {"keys": keys.state(), "cells": cells.state()}
        else:
            kept = {"keys": changes_of(keys, n), "cells": changes_of(cells, cells.n)}
        return {**kept, "newest_ms": newest, "heads": heads}

    def changes(self) -> dict[str, Any]:
        """Return the changes since `forget_changes`, for `with_changes`."""
        return changes_of(self, self.keys.n)

    def forget_changes(self) -> None:
        """Start to note changes from the present state on."""
        for kept in (self, self.keys, self._cells):
            forget_changes(kept)

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Restore a state; None: no events. Raises `DamagedError`."""
        self._clear()
        if state is None:
            return
        self.keys.restore(state["keys"])
        self._cells.restore(state["cells"])
        newest, heads = numbers_of("q", state["newest_ms"]), numbers_of("i", state["heads"])
        n = self.keys.n
        if len(newest) != n or len(heads) != n * self._n_spans:
            raise DamagedError("windows: columns of different lengths")
        if not -1 <= min(heads, default=-1) <= max(heads, default=-1) < self._cells.n:
            raise DamagedError("windows: references to missing cells")
        self._cells.check_lists(heads)
        self._newest_ms, self._heads, self.changed = newest, heads, array("B", bytes(n))

    def _number(self, timestamp_ms: int, span: int) -> int:
        """Return the number of the cell of a span that contains a time."""
        if not -_LATEST_MS <= timestamp_ms <= _LATEST_MS:
            timestamp_ms = _LATEST_MS if timestamp_ms > 0 else -_LATEST_MS
        sixteenths, length = timestamp_ms * _CELLS, self._spans_ms[span]
        if sixteenths >= 0:
            return sixteenths // length
        return -((length - 1 - sixteenths) // length)

    def _add_up(self, head: int, number: int) -> None:
        """Add up the cells of a list that a value at a time in cell `number` aggregates."""
        cells = self._cells
        cell = self._heads[head]
        while cell >= 0 and cells.number[cell] > number:
            cell = cells.next[cell]
        while cell >= 0 and cells.number[cell] >= number - _CELLS:
            self._totals.add(cell)
            cell = cells.next[cell]

    def _add_key(self, key: int, timestamp_ms: int) -> int:
        """Return a row for a new key, without cells."""
        n = self.keys.n
        row = self.keys.add(key)
        first = row * self._n_spans
        if self.keys.n == n:  # the row of an evicted key
            for head in range(first, first + self._n_spans):
                self._cells.drop_from(self._heads[head])
        elif n == len(self._newest_ms):
            room = min(max(n + n // 4, _FIRST_ROWS), self._max_keys)
            self._newest_ms = grown("q", self._newest_ms, room)
            self._heads = grown("i", self._heads, room * self._n_spans)
            self.changed = grown("B", self.changed, room)
        for head in range(first, first + self._n_spans):
            self._heads[head] = -1
        self._newest_ms[row] = timestamp_ms
        return row

    def _cell(self, head: int, number: int, least: int) -> int:
        """Return the cell with this number in a list; make it if necessary."""
        cells, previous, cell = self._cells, -1, self._heads[head]
        while cell >= 0 and cells.number[cell] > number:
            previous, cell = cell, cells.next[cell]
        if cell >= 0 and cells.number[cell] == number:
            return cell
        made = cells.take_empty(number)
        cells.set_next(made, cell)
        if previous >= 0:
            cells.set_next(previous, made)
            return made
        self._heads[head] = previous = made  # the newest: older ones may have left the span
        while cell >= 0 and cells.number[cell] >= least:
            previous, cell = cell, cells.next[cell]
        cells.set_next(previous, -1)
        cells.drop_from(cell)
        return made


class Windows(Part):
    """The configured windows by key.

    Parameters
    ----------
    settings
        The settings of each window.

    """

    name = "windows"
    counted: ClassVar[Mapping[str, str]] = {
        "window_keys_dropped": "Keys evicted from the windows by key, the least recent first.",
        "window_events_late": "Events too late to be counted in all windows of their keys.",
    }

    def __init__(self, settings: Sequence[WindowSettings]) -> None:
        super().__init__()
        self._windows = [make_window(setting) for setting in settings]
        self.feature_names = frozenset(name for setting in settings for name in setting.feature_names())
        self._learners = [
            (n, window)
            for n, (each, window) in enumerate(zip(settings, self._windows, strict=True))
            if LABEL in each.of
        ]
        self._notes_changes = False
        self._key_bytes = Struct(f"<{len(self._learners)}q")

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401 - see Part
        """Make the windows of the settings; None if there are none."""
        return cls(settings.events.windows) if settings.events.windows else None

    def features(self, features: dict[str, Any], event: Incoming, timestamp_ms: int) -> None:
        """Add the windows' features to the features of an event, without counting it."""
        if event.windowed is not None:
            put_all(self._windows, features, event.windowed, timestamp_ms)

    def on_event(self, example: Example, event: Incoming | None, timestamp_ms: int, is_new: bool) -> bytes:  # noqa: FBT001 - see Part
        """Count a new event; the example stores its keys in the windows that count labels."""
        windowed = event.windowed if event is not None else None
        if windowed is not None and is_new:
            if take_all(self._windows, windowed, timestamp_ms):
                self.count["window_events_late"] += 1
            if self._learners:
                example.keys = self._key_bytes.pack(*[windowed[n][0] for n, _ in self._learners])
        return b""

    def on_label(self, example: Example, before: TrueLabel | None, truth: TrueLabel) -> None:
        """Count the label of an event at the event's time; `before` is the label that it corrects."""
        if len(example.keys) != self._key_bytes.size:
            return  # the event has no keys
        for key, (_, window) in zip(self._key_bytes.unpack(example.keys), self._learners, strict=True):
            if key:
                known = -1 if before is None else int(before)
                window.count_label(key, example.timestamp_ms, known, int(truth))

    def state(self) -> PackedLater:
        """Copy the whole state; it is packed later."""
        state = {"counts": dict(self.count), "windows": [window.state() for window in self._windows]}
        return PackedLater(sum(window.size_bytes for window in self._windows), lambda: [pack(state)])

    def changes(self) -> Packed | None:
        """Pack the changes of the windows since the last call."""
        packed = None
        if self._notes_changes:
            changes = [each.changes() for each in self._windows]
            packed = Packed([pack({"counts": dict(self.count), "windows": changes})])
        self._notes_changes = True
        for window in self._windows:
            window.forget_changes()
        return packed

    @classmethod
    def with_changes(cls, state: Any, changes: Sequence[Any]) -> Any:  # noqa: ANN401
        """Return a state with changes applied. Raises as `window_keys.with_changes`."""
        for change in changes:
            pairs = zip(state["windows"], change["windows"], strict=True)
            state = {**change, "windows": [with_changes(*pair) for pair in pairs]}
        return state

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore a state; None is from a snapshot without windows."""
        super().restore(state["counts"] if state else {})
        kept = state["windows"] if state else [None] * len(self._windows)
        for window, each in zip(self._windows, kept, strict=True):
            window.restore(each)

    def counts(self) -> Mapping[str, int]:
        """Return the counts."""
        n_left = sum(window.keys.n_left for window in self._windows)
        return {"window_keys_dropped": n_left, "window_events_late": self.count["window_events_late"]}

    @classmethod
    def counts_of(cls, state: Any) -> Mapping[str, int | None]:  # noqa: ANN401
        """Return the counts of a state."""
        n_left = sum(window["keys"]["left"] for window in state["windows"])
        late = state["counts"].get("window_events_late", 0)
        return {"window_keys_dropped": n_left, "window_events_late": late}

    def metrics(self) -> Sequence[PartMetric]:
        """Return the counts, the number of keys and their memory as metrics."""
        counts = self.counts()
        keys = sum(window.keys.n for window in self._windows)
        size_bytes = sum(window.size_bytes for window in self._windows)
        return [
            *(PartMetric(name, text, counts[name]) for name, text in self.counted.items()),
            PartMetric("window_keys", "Keys in the windows by key.", keys, is_gauge=True),
            PartMetric("window_bytes", "Memory of the windows by key.", size_bytes, is_gauge=True),
        ]


def make_window(settings: WindowSettings) -> Window:
    """Make a window from its settings; numbers and hashes are in the order of the settings."""
    numbers, hashed = settings.numbers(), settings.hashed()
    outputs, since = [], ""
    for what, aggregates in settings.of.items():
        for aggregate in aggregates:
            names = [settings.feature_name(what, aggregate, span) for span in settings.over]
            if aggregate == SINCE:
                since = names[0]
                continue
            kind = EVENTS if what == EVENT else KINDS[aggregate]
            columns = hashed if aggregate == "distinct" else numbers
            column = 0 if what in {EVENT, LABEL} else columns.index(what)
            outputs.append(Output(kind, column, names))
    spans = [span_ms(span) for span in settings.over]
    return Window(spans, len(numbers), len(hashed), outputs, since, settings.max_keys)
