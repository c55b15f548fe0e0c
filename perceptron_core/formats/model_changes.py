"""Write the changes of a model since its last copy as bytes, and apply them to the model's bytes.

Two-class learners with numbers for each feature, named or hashed, support it: they write changed rows,
dropped features, and all state that is not in rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core.formats.model_bytes import sealed, unsealed
from perceptron_core.formats.packed import Packed, PackedLater, pack, pack_around, pack_row, unpack
from perceptron_core.linear.column_properties import Cells
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.validation import DamagedError
from perceptron_core.weights.tables import WeightTable

try:
    from perceptron_core.formats.packed_cells import freeze_changed_cells, freeze_changed_names  # type: ignore[import-not-found]
except ImportError:  # not compiled: `msgpack` writes a dictionary
    freeze_changed_cells = freeze_changed_names = None

_MAX_RATIO: Final = 0.5
"""Largest share of changed rows; above it, a complete copy is cheaper."""


def track_changes(model: Any) -> None:
    """Begin to note the changes of a model that was just copied, if it supports this."""
    if (table := _table_of(model)) is not None:
        table.track_changes()


def freeze_changes(model: Any) -> Packed | None:
    """Copy the changes since `track_changes` or the last copy; None if they are unknown or too large.

    The chunks of the copy, on any thread, are one item of the `changes` of `with_changes`.
    """
    table = _table_of(model)
    changes = None if table is None else table.changes
    if table is None or changes is None or changes.is_whole:
        return None
    slots = changes.slots()
    if max(len(slots), len(changes.dropped)) > _MAX_RATIO * table.n_slots:
        return None
    copies = _Copies(table, slots)
    state = model._read_state(copies.read)  # noqa: SLF001  of our own class
    columns = [name for name, value in state.items() if isinstance(value, _Column)]
    rows = [columns, table.is_fixed, changes.dropped, copies.gaps()]
    packed = pack_row([type(model).__name__, pack_around(state), *rows])
    table.track_changes()
    return packed


def with_changes(data: bytes, changes: Sequence[bytes]) -> bytes:
    """Return a model's bytes after these changes, the oldest first.

    Raises `DamagedError` if the model or the changes cannot be read, or do not belong together.
    """
    version, body = unsealed(data)
    try:
        name, params, state, *settings = unpack(body)
        for change in changes:
            of, new, *rows = unpack(change)
            if of != name or new.keys() != state.keys():
                raise DamagedError(f"expected changes of a {name}, got changes of a {of!r:.50}")
            _apply(state, new, *rows)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"unreadable changes of this perceptron-model: {error}") from error
    return sealed(version, [name, params, state, *settings])


def _table_of(model: Any) -> WeightTable | None:
    rule = getattr(model, "learner", model)  # a HashedClassifier's
    return rule.table if isinstance(rule, LinearRule) and hasattr(model, "_read_state") else None


def _apply(
    state: dict[str, Any],
    new: Mapping[str, Any],
    columns: Sequence[str],
    is_fixed: bool,
    dropped: Sequence[Any],
    gaps: Sequence[Any],
) -> None:
    """Change the state of a model.

    Features are in the order in which they came, hashed features in the order of their numbers; a dropped
    feature that came again is last. The first column has all features that any column has.
    """
    has_late = []
    came: set[Any] = set()
    for name in columns:
        cells, changed = state[name], new[name]
        for feature in dropped:
            cells.pop(feature, None)
        for feature in gaps:
            if feature not in changed:
                cells.pop(feature, None)
        others = {feature for feature in changed if feature not in cells}
        if name == columns[0]:
            came = others  # to the table
        if others and (is_fixed or not others <= came):
            has_late.append(name)
        cells.update(changed)
    for name in has_late:
        cells = state[name]
        order = sorted(cells) if is_fixed else state[columns[0]]
        state[name] = {feature: cells[feature] for feature in order if feature in cells}
    state.update({name: value for name, value in new.items() if name not in columns})


class _Column(PackedLater):
    """The cells of a column in changed rows."""


class _Copies:
    """Reads the attributes of a learner; copies the changed rows of its columns."""

    def __init__(self, table: WeightTable, slots: list[int]) -> None:
        self._table = table
        self._slots = slots
        self._gaps: set[int] = set()
        self._names: Any = None
        if not table.is_fixed:
            self._names = freeze_changed_names(table, slots) if freeze_changed_names else self._read_names()

    def read(self, model: Any, name: str) -> Any:
        """Read an attribute; a column as what is packed later."""
        attribute = getattr(type(model), name, None)
        if not isinstance(attribute, Cells):
            return getattr(model, name)
        if freeze_changed_cells:
            _, column, with_zeros = attribute.column_of(model)
            cells = freeze_changed_cells(
                self._table, column, with_zeros, self._slots, self._names, self._gaps
            )
            return _Column(cells.size_bytes, cells.iter_chunks)
        cells, slots = getattr(model, name), self._slots if self._table.is_fixed else self._names
        self._gaps.update(slot for slot in slots if self._name(slot) not in cells)
        packed = pack(
            {self._name(slot): cells[self._name(slot)] for slot in slots if self._name(slot) in cells}
        )
        return _Column(len(packed), lambda: [packed])

    def gaps(self) -> list[Any]:
        """Return the features of changed rows without a cell to be packed in a column that was read."""
        return [self._name(slot) for slot in sorted(self._gaps)]

    def _name(self, slot: int) -> Any:
        return slot if self._table.is_fixed else self._table.name_at(slot)

    def _read_names(self) -> list[int]:
        """Return the slots of the features, in the order in which these came."""
        changed = {*self._slots}
        return [slot for slot in self._table.slots_in_order() if slot in changed]
