"""The windows by key of a partition: features of what the earlier events of each key were like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, ClassVar, Self

from perceptron_core.formats.packed import Packed, PackedLater, pack
from service.messages.decoder import Incoming
from service.messages.labels import Truth
from service.partition.part import Figure, Part
from service.partition.windows.columns import with_changes
from service.partition.windows.totals import EVENTS, KINDS
from service.partition.windows.window import Output, Window, put_all, take_all
from service.settings.windows import EVENT, LABEL, SINCE, WindowSettings, span_ms


class Windows(Part):
    """The windows that the settings describe.

    Parameters
    ----------
    settings
        Of each window.

    Attributes
    ----------
    names : frozenset of str
        Of all their features.

    """

    name = "windows"
    counted: ClassVar[Mapping[str, str]] = {
        "window_keys_dropped": "Keys that left the windows by key for others: the longest silent first.",
        "window_events_late": "Events that came too late to be counted in all windows of their keys.",
    }

    def __init__(self, settings: Sequence[WindowSettings]) -> None:
        super().__init__()
        self._windows = [make_window(each) for each in settings]
        self.names = frozenset(name for each in settings for name in each.feature_names())
        self._learners = [
            (n, window)
            for n, (each, window) in enumerate(zip(settings, self._windows, strict=True))
            if any(what == LABEL for what, _ in each.of)
        ]
        self._key_bytes = Struct(f"<{len(self._learners)}q")

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401 - see Part
        """Make the windows of the settings; None if there are none."""
        return cls(settings.events.windows) if settings.events.windows else None

    def put(self, found: dict[str, Any], event: Incoming, timestamp_ms: int) -> None:
        """Add their features to those of an event; changes nothing else."""
        assert event.windowed is not None
        put_all(self._windows, found, event.windowed, timestamp_ms)

    def take_event(self, event: Incoming, timestamp_ms: int, truth: Truth | None) -> bytes:
        """Count an event that is new, and its label if that is known.

        Returns its keys in the windows that count labels, for `learn`.
        """
        windowed = event.windowed
        assert windowed is not None
        if take_all(self._windows, windowed, timestamp_ms):
            self.count["window_events_late"] += 1
        if not self._learners:
            return b""
        keys = self._key_bytes.pack(*[windowed[n][0] for n, _ in self._learners])
        if truth is not None:
            self.learn(keys, timestamp_ms, None, truth)
        return keys

    def learn(self, keys: bytes, timestamp_ms: int, before: Truth | None, truth: Truth) -> None:
        """Count the label of an event at this time; `before` is the one that it corrects."""
        for key, (_, window) in zip(self._key_bytes.unpack(keys), self._learners, strict=True):
            if key:
                window.learn(key, timestamp_ms, -1 if before is None else int(before), int(truth))

    def state(self) -> dict[str, Any]:
        """Return the whole state as plain values."""
        return {"counts": dict(self.count), "windows": [window.state() for window in self._windows]}

    def packed_state(self) -> PackedLater:
        """Copy what `state` returns, to be packed later."""
        state, size_bytes = self.state(), sum(window.size_bytes for window in self._windows)
        return PackedLater(size_bytes, lambda: [pack(state)])

    def track_changes(self) -> None:
        """Note from now on what changes in the windows."""
        for window in self._windows:
            window.forget_changes()

    def packed_changes(self) -> Packed:
        """Pack what changed in the windows since."""
        packed = pack({"counts": dict(self.count), "windows": [each.changes() for each in self._windows]})
        self.track_changes()
        return Packed([packed])

    @classmethod
    def with_changes(cls, state: Any, changes: Sequence[Any]) -> Any:  # noqa: ANN401
        """Return a state with what changed since. Raises as `columns.with_changes`."""
        for each in changes:
            pairs = zip(state["windows"], each["windows"], strict=True)
            state = {**each, "windows": [with_changes(*pair) for pair in pairs]}
        return state

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore what `state` returned; None from a snapshot that was made without windows."""
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
        """Return the counts of windows with this state."""
        n_left = sum(window["keys"]["left"] for window in state["windows"])
        late = state["counts"].get("window_events_late", 0)
        return {"window_keys_dropped": n_left, "window_events_late": late}

    def figures(self) -> Sequence[Figure]:
        """Return the counts, how many keys there are, and what memory they take."""
        counts = self.counts()
        keys = sum(window.keys.n for window in self._windows)
        size_bytes = sum(window.size_bytes for window in self._windows)
        return [
            *(Figure(name, text, counts[name]) for name, text in self.counted.items()),
            Figure("window_keys", "Keys that the windows by key have.", keys, is_gauge=True),
            Figure("window_bytes", "Memory of the windows by key.", size_bytes, is_gauge=True),
        ]


def make_window(settings: WindowSettings) -> Window:
    """Make a window as the settings describe it; its columns are those of the settings."""
    numbers, hashed = settings.numbers(), settings.hashed()
    outputs, since = [], ""
    for what, aggregates in settings.of:
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
