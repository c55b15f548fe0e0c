"""Check the numbers and labels given to a learner, before its state changes.

LearnerError (a ValueError)
  ├─ FeatureError   a feature value is not a finite number, or is too large
  ├─ LabelError     a label denotes no class of the learner
  └─ DamagedError   bytes are not a model, or were changed
      └─ NewerError  bytes have the version of a newer release
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union

if TYPE_CHECKING:
    from river.optim.base import Scheduler


class LearnerError(ValueError):
    """Base of the errors of invalid input."""


class FeatureError(LearnerError):
    """A feature value is NaN, infinite, beyond `MAX_MAGNITUDE`, or not a number."""


class LabelError(LearnerError):
    """A label that denotes no class."""


class DamagedError(LearnerError):
    """Serialised data of another kind or an unknown version, truncated, or changed."""


class NewerError(DamagedError):
    """Valid serialised data of a version that only a newer release can read."""


MAX_MAGNITUDE: Final = 1e100
"""Largest accepted absolute feature value.

Weights are sums of feature values, so a dot product of n features after u updates is below n · u · 1e200, far
from the largest double. A comparison with this bound also detects NaN and ±inf.
"""

MAX_RATE: Final = 1e25
"""Largest accepted learning rate, aggressiveness or weight of an example.

A step is a product of at most two of these, so it is below 1e50, weights after u updates are below u · 1e150,
and a score of n features is below n · u · 1e250: no stream can overflow a double.
"""

MAX_LEARNED: Final = 1e200
"""Largest number in a loaded model: its scores are then finite, as values are at most 1e100.

It is far above any learned number.
"""

MAX_LOSS: Final = 1e100
"""Largest loss of an update: beyond it, a score consists of rounding errors of huge values."""

_SIGNS: Final[Mapping[object, int]] = {True: 1, False: -1, -1: -1}


def sign_of(label: Any) -> int:
    """Map a binary label to y ∈ {−1, +1}.

    True, 1 → +1; False, 0, −1 → −1. NumPy's booleans and numbers are taken as Python's.

    Raises
    ------
    LabelError
        For anything else.

    """
    if label is True:
        return 1
    if label is False:
        return -1
    try:
        return _SIGNS[label]
    except (KeyError, TypeError):
        raise LabelError(f"expected the label True/False, 1/0 or 1/-1, got {label!r}") from None


def hinge(signed_score: float) -> float:
    """Compute max(0, 1 − y·a), for y·a = `signed_score`; at most `MAX_LOSS`."""
    return min(max(0.0, 1.0 - signed_score), MAX_LOSS)


def as_double(value: Any) -> float:
    """Convert a number of any type to a double; NumPy's shorter floats would keep their precision.

    Raises `TypeError` or ValueError for what is not a number, text included; OverflowError for an integer
    beyond every double.
    """
    if type(value) is int:
        return float(value)
    if isinstance(value, (str, bytes)):
        raise TypeError("text is not a number")
    return float(value)


def one_number_each(keys: Collection[object], values: Iterable[Any], plural: str) -> list[float]:
    """Return values as floats, one for each key. Raises `ValueError` if keys are equal or counts differ."""
    numbers = [float(value) for value in values]
    if len(set(keys)) < len(keys):
        raise ValueError(f"two of the {plural} are equal")
    if len(numbers) != len(keys):
        raise ValueError(f"{len(numbers)} values for {len(keys)} {plural}")
    return numbers


def example_weight(w: Any) -> float:
    """Take the weight of an example. Raises `ValueError` if it is negative, NaN or above `MAX_RATE`."""
    try:
        if 0 <= w <= MAX_RATE:
            return float(w)
    except TypeError:
        pass
    raise ValueError(f"the weight of an example: expected a number from 0 to {MAX_RATE:g}, got {w!r}")


def check_positive(name: str, value: float, most: float = MAX_RATE) -> None:
    """Raise `ValueError` unless a number is above 0 and at most `most`."""
    if not 0 < value <= most:
        raise ValueError(f"{name}: expected a number above 0 and at most {most:g}, got {value!r}")


def check_number(name: str, value: float, least: float, most: float = MAX_RATE) -> None:
    """Raise `ValueError` unless a number is within these bounds."""
    if not least <= value <= most:
        raise ValueError(f"{name}: expected a number from {least:g} to {most:g}, got {value!r}")


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Raise `ValueError` unless a value is a whole number within these bounds."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")


def reject_features(x: Mapping[Any, Any]) -> FeatureError | TypeError:
    """Return the error that names the first feature of `x` that cannot be taken; or what is not a mapping."""
    if not hasattr(x, "items"):
        return TypeError(f"x: expected a dictionary of features and their values, got {type(x).__name__}")
    for name, value in x.items():
        try:
            double = as_double(value)
            problem = repr(double)
        except (TypeError, ValueError):
            return FeatureError(f"feature {name!r} is {value!r}, not a number")
        except OverflowError:
            double, problem = float("inf"), "beyond the range of a double"
        if not -MAX_MAGNITUDE <= double <= MAX_MAGNITUDE:
            return FeatureError(
                f"feature {name!r} is {problem}; values must be finite and at most {MAX_MAGNITUDE:g} in size"
            )
    # Every value could be read and is in range now: it was not when the caller read it.
    return FeatureError("the score of the features is not finite")


def named_values(x: Any) -> Iterable[tuple[Any, Any]]:
    """Return the names and values of an event; a string is its text. Raises `FeatureError` for neither."""
    if isinstance(x, str):
        return [("text", x)]
    try:
        named: Iterable[tuple[Any, Any]] = x.items()
    except AttributeError:
        raise FeatureError(f"expected a dictionary or text, got {type(x).__name__}") from None
    return named


def is_boolean(value: Any) -> bool:
    """Return whether a value is a boolean, of Python or of NumPy, whose class has one of these names."""
    return type(value).__name__ in {"bool", "bool_"}


Rate: TypeAlias = Union[float, "Scheduler"]
"""A constant η > 0, or a scheduler such as `river.optim.schedulers.InverseScaling`."""


def check_rate(rate: Rate) -> None:
    """Reject a learning rate that makes no sane first step. Raises `ValueError`."""
    rate_at(rate, 0)


def rate_at(rate: Rate, n_updates: int) -> float:
    """Return η after `n_updates` updates. Raises `ValueError` if it is not in (0, `MAX_RATE`]."""
    value = rate if type(rate) is float else _scheduled(rate, n_updates)  # a plain number most often
    if not 0 < value <= MAX_RATE:
        raise ValueError(f"learning_rate: expected a number above 0 and at most {MAX_RATE:g}, got {value!r}")
    return float(value)


def _scheduled(rate: Rate, n_updates: int) -> float:
    from river.optim.base import Scheduler  # noqa: PLC0415  takes long to import

    return rate.get(n_updates) if isinstance(rate, Scheduler) else rate
