"""Models as bytes and back. In: a model. Out: bytes that any later release reads, and that run no code.

The body is MessagePack: class name, parameters, state. Numbers keep every bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgpack

from perceptron_core.averaged_multiclass_perceptron import AveragedMulticlassPerceptron
from perceptron_core.envelope import seal, unseal
from perceptron_core.errors import DamagedError
from perceptron_core.multiclass_arow import MulticlassAROW
from perceptron_core.multiclass_passive_aggressive import MulticlassPassiveAggressive
from perceptron_core.multiclass_perceptron import MulticlassPerceptron
from perceptron_core.perceptron import Perceptron
from perceptron_core.structured import StructuredPerceptron

_KIND: Final = b"perceptron-model"
_VERSION: Final = 1


class Model(Protocol):
    """What a model has to tell to be written down."""

    def _get_params(self) -> dict[str, Any]: ...
    def _get_state(self) -> dict[str, Any]: ...
    def _set_state(self, state: Mapping[str, Any]) -> None: ...


_CLASSES: Final[Mapping[str, type[Any]]] = {
    cls.__name__: cls
    for cls in (
        Perceptron,
        AveragedMulticlassPerceptron,
        MulticlassAROW,
        MulticlassPassiveAggressive,
        MulticlassPerceptron,
        StructuredPerceptron,
    )
}


def to_bytes(model: Model) -> bytes:
    """Write a model down: parameters and state, versioned and checksummed, no pickle.

    Raises
    ------
    TypeError
        The model is none of this package's, or a feature is named by something that is no string,
        number, boolean or tuple of these.

    """
    name = type(model).__name__
    if _CLASSES.get(name) is not type(model):
        raise TypeError(f"{name} is no model of perceptron_core")
    return seal(_KIND, _VERSION, pack([name, model._get_params(), model._get_state()]))  # noqa: SLF001


def from_bytes(data: bytes) -> Any:
    """Read a model that `to_bytes` wrote; it goes on exactly as the original would.

    Raises
    ------
    DamagedError
        The data is not what `to_bytes` wrote, or was written by a release newer than this one.

    """
    _, body = unseal(_KIND, range(1, _VERSION + 1), data)
    name, params, state = unpack(body)
    if name not in _CLASSES:
        raise DamagedError(f"this perceptron-model is a {name}, which this release does not know")
    model = _CLASSES[name](**params)
    model._set_state(state)  # noqa: SLF001
    return model


def pack(value: Any) -> bytes:
    """Write plain values as MessagePack; doubles stay doubles."""
    packed: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    return packed


def unpack(data: bytes) -> Any:
    """Read what `pack` wrote. Sequences come back as tuples, so that they can name features."""
    return msgpack.unpackb(data, use_list=False, strict_map_key=False, unicode_errors="surrogatepass")
