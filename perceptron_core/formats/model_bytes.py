"""Write models as bytes that later releases can read and that run no code.

The body is MessagePack: class name, parameters, state. Numbers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Protocol

from river import base

import perceptron_core
from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.auto.characters import MAX_BITS
from perceptron_core.auto.ensemble import n_ensembles
from perceptron_core.formats.packed import (
    Packed,
    PackedLater,
    pack,
    pack_around,
    pack_row,
    seal,
    seal_chunks,
    unpack,
    unseal,
)
from perceptron_core.linear.column_properties import Cells
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from perceptron_core.mixing.mixture import name_of
from perceptron_core.validation import DamagedError

try:
    from perceptron_core.formats.packed_cells import freeze_cells, freeze_names  # type: ignore[import-not-found]
except ImportError:  # not compiled: `msgpack` writes a dictionary
    freeze_cells = freeze_names = None

_KIND: Final = b"perceptron-model"
_VERSION: Final = 1
_VERSION_WITH_SETTINGS: Final = 2
"""Then also, as last field, the settings with which the model was made."""
_MAX_BYTES: Final = 2 << 30
_MIN_COLUMNS: Final = 2
"""Most numbers of a feature: its weight, and further state of the learner."""
_BYTES_AN_INDEX: Final = 16
"""Bytes of an `AutoClassifier`: two maps of indices, and for each ensemble tables of slots and pairs."""
_BYTES_A_SLOT: Final = 320
_BYTES_A_PAIR: Final = 3072
_BYTES_AN_ENSEMBLE: Final = 1 << 20
_BYTES_OF_CHARACTERS: Final = 16 << MAX_BITS
"""Bytes of the counts of a class, whose arrays may have twice the size."""
_BYTES_A_CLASS: Final = 8192
"""Bytes per class of a multiclass learner: empty columns, or an empty ensemble."""
_BYTES_A_CELL: Final = 8
"""Bytes per feature and class: a cell in each column, even if the data has none."""


class Model(Protocol):
    """What a model provides to be written."""

    def _get_params(self) -> dict[str, Any]: ...
    def _get_state(self) -> dict[str, Any]: ...
    def _set_state(self, state: Mapping[str, Any]) -> None: ...


class ReadModel(bytes):
    """Bytes of a model, with the fields already read for the first reader."""

    fields: Sequence[Any] | None = None

    def take_fields(self) -> Sequence[Any] | None:
        """Return name, parameters and state; None at later calls."""
        fields, self.fields = self.fields, None
        return fields


@cache
def _schedulers() -> Mapping[str, type[Any]]:
    from river.optim.schedulers import Constant, InverseScaling  # noqa: PLC0415  takes long to import

    return {cls.__name__: cls for cls in (Constant, InverseScaling)}


def to_bytes(model: Model, settings: Mapping[str, Any] | None = None) -> bytes:
    """Write a model as bytes: parameters and state, with version and checksum, without pickle.

    Parameters
    ----------
    model
        A model of this package.
    settings
        Plain values to store with it, such as the settings of its features; `settings_of` returns them.

    Raises
    ------
    TypeError
        The model is not from this package, a parameter is a function or an unknown scheduler, or the name of
        a feature is not a string, a number of 64 bits, a boolean or a tuple of these.

    """
    return b"".join(freeze(model, settings).iter_chunks())


def freeze(model: Model, settings: Mapping[str, Any] | None = None) -> Packed:
    """Copy the current model; the chunks of the copy, on any thread, are the result of `to_bytes`.

    Parameters and errors are as in `to_bytes`; an error may be raised only when the chunks are read.
    """
    cls = type(model)
    if class_of(cls.__name__) is not cls:
        raise TypeError(f"{cls.__name__} is not a model of perceptron_core")
    params = _parameters(cls, model._get_params())  # noqa: SLF001
    read_state = getattr(model, "_read_state", None)
    with _integers_checked(cls):
        state = pack_around(read_state(_Copies().read)) if read_state else model._get_state()  # noqa: SLF001
        written = [cls.__name__, params, state]
        version = _VERSION if settings is None else _VERSION_WITH_SETTINGS
        body = pack_row(written if settings is None else [*written, dict(settings)])

    def chunks() -> Sequence[bytes]:
        with _integers_checked(cls):
            return seal_chunks(_KIND, version, body.iter_chunks())

    return PackedLater(body.size_bytes, chunks)


@contextmanager
def _integers_checked(cls: type[Any]) -> Iterator[None]:
    try:
        yield
    except OverflowError:
        raise TypeError(
            f"this {cls.__name__} has an integer of more than 64 bits and cannot be saved"
        ) from None


def from_bytes(data: bytes, max_bytes: int | None = None) -> Any:
    """Read a model that `to_bytes` wrote; it continues exactly like the original.

    Parameters
    ----------
    data
        The result of `to_bytes`; any object with the buffer protocol.
    max_bytes
        Largest memory of tables whose size does not follow from the size of the data: 2**bits cells for each
        column of a `HashedClassifier`, rows times tags of a `StructuredPerceptron`. None: 2 GiB, or 64 times
        the size of the data if that is more.

    Raises
    ------
    DamagedError
        The data is not a valid result of `to_bytes`, needs more than `max_bytes`, or was written by a newer
        release.

    """
    fields = data.take_fields() if isinstance(data, ReadModel) else None
    data = data if isinstance(data, bytes) else memoryview(data).tobytes()
    body = unsealed(data)[1] if fields is None else b""
    limit = max(_MAX_BYTES, 64 * len(data)) if max_bytes is None else max_bytes
    try:
        name, params, state, *_ = unpack(body) if fields is None else fields
        return _restored(name, params, state, limit)
    except (DamagedError, MemoryError):
        raise
    except Exception as error:
        raise DamagedError(
            f"this perceptron-model has a valid checksum but not a valid model: {type(error).__name__}: "
            f"{error}"
        ) from error


def settings_of(data: bytes) -> dict[str, Any] | None:
    """Return the settings that `to_bytes` wrote with a model; None if there are none.

    Raises `DamagedError` as `from_bytes` does.
    """
    try:
        _, _, _, *settings = unpack(unsealed(data)[1])
        return dict(*settings) if settings else None
    except DamagedError:
        raise
    except Exception as error:
        raise DamagedError(f"invalid settings in this perceptron-model: {error}") from error


def unsealed(data: bytes) -> tuple[int, bytes]:
    """Return version and body of the result of `to_bytes`. Raises `DamagedError` as `from_bytes` does."""
    return unseal(_KIND, range(_VERSION, _VERSION_WITH_SETTINGS + 1), data)


def sealed(version: int, fields: Sequence[Any]) -> bytes:
    """Write the fields of a body in the form of `to_bytes`."""
    model = ReadModel(seal(_KIND, version, pack(fields)))
    model.fields = fields
    return model


def _restored(name: str, params: Mapping[str, Any], state: Mapping[str, Any], limit: int) -> Any:
    if name == "StructuredPerceptron":
        # Weights and their late sums, for each table.
        tables = state["emissions"], state["transitions"]
        _reject_above(limit, 2 * 8 * len(state["tags"]) * sum(len(table["keys"]) + 1 for table in tables))
        if any(table["columns"] != len(state["tags"]) for table in tables):
            raise DamagedError("tags and columns of this perceptron-model differ")
    _reject_above(limit, _state_bytes(name, state))
    model = _made(name, params, limit)
    model._set_state(state)  # noqa: SLF001
    return model


def _state_bytes(name: str, state: Mapping[str, Any]) -> float:
    """Return the bytes that a state needs besides its own numbers."""
    if issubclass(class_of(name) or object, AutoClassifier):
        maps, n = state["maps"], n_ensembles(len(state["labels"]))
        slots = (len(maps["words"]) + len(maps["grams"])) // 4
        grown = _BYTES_AN_ENSEMBLE + slots * _BYTES_A_SLOT + len(maps["pairs"]) * _BYTES_A_PAIR
        if "characters" in maps:
            grown += _BYTES_OF_CHARACTERS
        return n * (grown if state["groups"] else _BYTES_A_CLASS)
    cls: Any = class_of(name) or object
    if not issubclass(cls, MulticlassClassifier):
        return 0
    n_classes = len(state[next(iter(cls.STATE))])
    learned = [state[each] for each in cls.STATE if isinstance(state[each], Mapping)]
    columns = [[cells for cells in each.values() if isinstance(cells, Mapping)] for each in learned]
    features = {feature for column in columns for cells in column for feature in cells}
    return n_classes * (_BYTES_A_CLASS + _BYTES_A_CELL * len([*filter(None, columns)]) * len(features))


def _made(name: str, params: Mapping[str, Any], limit: int) -> Any:
    cls = class_of(name)
    if cls is None:
        raise DamagedError(f"unknown kind of perceptron-model: {name}")
    _reject_above(limit, _table_bytes(name, params))
    return cls(**{parameter: _read(value, limit) for parameter, value in params.items()})


def _table_bytes(name: str, params: Mapping[str, Any]) -> float:
    """Return the size of the tables of a model and of models in its parameters."""
    values = [each for value in params.values() for each in (value if isinstance(value, tuple) else [value])]
    models = [value for value in values if isinstance(value, dict) and "model" in value]
    total = 0.0
    for model in models:
        total += _table_bytes(model["model"], model["parameters"])
    if name == HashedClassifier.__name__:
        total += _n_columns(models[0]["model"]) * 8 * 2.0 ** min(params["bits"], 64)
    if name == AutoClassifier.__name__:
        total += _BYTES_AN_INDEX * 2.0 ** min(params["hash_bits"], 64)
    return total + _BYTES_A_CLASS * len(params.get("classes") or ())


def _n_columns(name: str) -> int:
    """Return how many numbers a learner stores for each feature."""
    cls: Any = class_of(name) or object
    return max(_MIN_COLUMNS, len(cls().table.dump(0)) if issubclass(cls, LinearRule) else 0)


def _reject_above(limit: int, n_bytes: float) -> None:
    if n_bytes > limit:
        raise DamagedError(
            f"this perceptron-model asks for {n_bytes:.0f} bytes of memory, which its size does not explain; "
            "from_bytes(data, max_bytes=...) allows them"
        )


class _Copies:
    """Reads the attributes of a learner; copies the cells of its columns, and its features once."""

    def __init__(self) -> None:
        self._names: Any = None

    def read(self, model: Any, name: str) -> Any:
        """Read an attribute; a column is packed later."""
        attribute = getattr(type(model), name, None)
        if freeze_cells is None or not isinstance(attribute, Cells):
            return getattr(model, name)
        table, column, with_zeros = attribute.column_of(model)
        if self._names is None and not table.is_fixed:
            self._names = freeze_names(table)
        cells = freeze_cells(table, column, with_zeros, self._names)
        return PackedLater(cells.size_bytes, cells.iter_chunks)


def _parameters(cls: type[Any], params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _written(f"{cls.__name__}: {name}", value) for name, value in params.items()}


def _written(what: str, value: Any) -> Any:
    """Write a parameter as plain values; River's pairs (class, parameters) with the name of the class."""
    if callable(value):
        raise TypeError(f"{what} is a function and cannot be saved: use a built-in name")
    if isinstance(value, tuple) and any(isinstance(each, base.Base) for each in value):
        return [_written_model(what, each) for each in value]
    if isinstance(value, tuple) and value and isinstance(value[0], type):
        cls: type[Any]
        cls, params = value
        if class_of(cls.__name__) is cls:
            return {"model": cls.__name__, "parameters": _parameters(cls, params)}
        if cls not in _schedulers().values():
            raise TypeError(
                f"{what} is a {cls.__name__} and cannot be saved: expected {', '.join(_schedulers())}"
            )
        return {"scheduler": cls.__name__, "parameters": params}
    return value


def _written_model(what: str, model: Any) -> dict[str, Any]:
    """Write one model of a parameter with several models."""
    cls = type(model)
    if class_of(cls.__name__) is not cls:
        raise TypeError(
            f"{what}: {name_of(model)} ({cls.__module__}) is not a model of perceptron_core and cannot be "
            "saved: use pickle"
        )
    return {"model": cls.__name__, "parameters": _parameters(cls, model._get_params())}  # noqa: SLF001


def _read(value: Any, limit: int) -> Any:
    """Read the result of `_written`."""
    if isinstance(value, tuple):
        return tuple(_read(each, limit) for each in value)
    if not isinstance(value, dict):
        return value
    if "model" in value:
        return _made(value["model"], value["parameters"], limit)
    return _schedulers()[value["scheduler"]](**value["parameters"])


def learners() -> dict[str, Any]:
    """Return the classes of learners by their names on the command line."""
    offered = vars(perceptron_core).values()
    return {cls.NAME: cls for cls in offered if isinstance(cls, type) and hasattr(cls, "NAME")}


def class_of(name: str) -> Any:
    """Return the class of models with a name; None if there is none. Other packages are not searched."""
    named = getattr(perceptron_core, name) if name in perceptron_core.__all__ else None
    return named if isinstance(named, type) and hasattr(named, "_set_state") else None
