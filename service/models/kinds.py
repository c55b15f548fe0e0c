"""Read the model of a checkpoint, which has to be of the kind that the settings make."""

from __future__ import annotations

from typing import Any

from perceptron_core import DamagedError, HashedClassifier, from_bytes


def read_as(model: Any, data: bytes) -> Any:  # noqa: ANN401 - any of perceptron_core's models
    """Read a model of the class and for the classes of another; where its weights are kept may differ.

    Raises
    ------
    DamagedError
        The data holds no sound model, or one of another kind.

    """
    found = from_bytes(data)
    kind, wanted_kind = kind_of(found), kind_of(model)
    if kind is not wanted_kind:
        raise DamagedError(f"this perceptron-model is a {kind.__name__}, not a {wanted_kind.__name__}")
    made_for, wanted = (getattr(each, "classes", None) for each in (found, model))
    if made_for != wanted:
        raise DamagedError(f"this perceptron-model has the classes {made_for}, not {wanted}")
    return found


def kind_of(model: Any) -> type[Any]:  # noqa: ANN401 - as above
    """Return the class of a model; where its weights are kept makes it no other."""
    return type(model.classifier if isinstance(model, HashedClassifier) else model)
