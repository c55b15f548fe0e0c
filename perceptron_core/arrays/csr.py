"""Check matrices of examples, labels and weights, and convert them to CSR arrays.

All input is checked before any state changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from perceptron_core.linear.batches import SparseBatch, first_rejected, signs_of, weights_of
from perceptron_core.validation import (
    MAX_MAGNITUDE,
    FeatureError,
    LabelError,
    example_weight,
    reject_features,
    sign_of,
)
from perceptron_core.weights.tables import WeightTable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from perceptron_core.linear.batches import Doubles, Integers, Signs


class CSR(Protocol):
    """Rows in CSR form, such as `Rows` of a `TextHasher` and SciPy's `csr_array`."""

    @property
    def indptr(self) -> ArrayLike:
        """The start of each row, and the end of the last one: the number of rows plus one."""

    @property
    def indices(self) -> ArrayLike:
        """The indices of all rows, one after the other."""


def batch_of(rows: CSR, table: WeightTable) -> tuple[SparseBatch, int]:
    """Return the rows as a batch for `table`, and their number.

    Raises
    ------
    FeatureError
        An index or a value is invalid; the message has the row and the feature.
    ValueError
        The arrays do not fit each other.

    """
    import numpy as np  # noqa: PLC0415  takes long to import

    indptr = np.ascontiguousarray(rows.indptr, np.int64)
    given, n_slots = np.asarray(rows.indices), table.n_slots
    indices = _slots(given, n_slots)
    values = _doubles(rows.data if hasattr(rows, "data") else rows.values)  # type: ignore[attr-defined]
    if not (indptr.ndim == indices.ndim == values.ndim == 1 and len(indptr)):
        raise ValueError("indptr, indices and values must have one dimension, and indptr an entry")
    if indptr[0] != 0 or (np.diff(indptr) < 0).any() or not indptr[-1] == len(indices) == len(values):
        raise ValueError(
            "indptr must rise from 0 to the number of indices, and values must have as many entries"
        )
    row = first_rejected(indptr, indices, values, n_slots)
    if row < len(indptr) - 1:
        entries = slice(indptr[row], indptr[row + 1])
        raise _rejection(row, given[entries].tolist(), values[entries].tolist(), n_slots)
    return SparseBatch(table, indptr, indices, values), len(indptr) - 1


def signs_and_weights(y: Any, w: Any, n_rows: int) -> tuple[Signs, Doubles]:
    """Return y ∈ {−1, +1} and the weight of each row.

    Raises
    ------
    LabelError
        A label is invalid; the message has the row.
    ValueError
        The lengths differ, or a weight is invalid.

    """
    import numpy as np  # noqa: PLC0415  takes long to import

    labels = y if isinstance(y, np.ndarray) else [*y]
    weights = np.full(n_rows, example_weight(w)) if np.isscalar(w) else np.asarray(w)
    if not len(labels) == len(weights) == n_rows:
        raise ValueError(f"{n_rows} rows, but {len(labels)} labels and {len(weights)} weights")
    signs = _signs(labels)
    if len(signs) < n_rows:
        try:
            sign_of(labels[len(signs)])
        except LabelError as error:
            raise LabelError(f"row {len(signs)}: {error}") from None
    taken = weights if np.isscalar(w) else weights_of(weights.tolist())
    if len(taken) < n_rows:
        example_weight(weights[len(taken)])
    return signs, taken


def _slots(indices: NDArray[Any], n_slots: int) -> Integers:
    """Convert indices to 32 bits; indices that do not fit become −1."""
    import numpy as np  # noqa: PLC0415  takes long to import

    if indices.dtype.kind not in "iu" and indices.size:
        raise FeatureError(f"indices: expected integers, got {indices.dtype}")
    if indices.dtype != np.int32:
        indices = np.where((indices >= 0) & (indices < n_slots), indices.astype(np.int32), np.int32(-1))
    return np.require(indices, requirements=["C", "W"])  # compiled code requires writable arrays


def _doubles(values: ArrayLike) -> Doubles:
    import numpy as np  # noqa: PLC0415  takes long to import

    given = np.asarray(values)
    if given.dtype.kind not in "biuf":
        raise FeatureError(f"values: expected numbers, got {given.dtype}")
    return np.require(given, np.float64, ["C", "W"])


def _signs(labels: Any) -> Signs:
    """Return y ∈ {−1, +1} of each label, up to the first invalid one."""
    import numpy as np  # noqa: PLC0415  takes long to import

    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "biuf":
        return signs_of(labels)
    if labels.dtype == bool:
        return np.where(labels, np.int8(1), np.int8(-1))
    rejected = ~((labels == 1) | (labels == 0) | (labels == -1))
    n = rejected.argmax() if rejected.any() else len(labels)
    return np.where(labels[:n] == 1, 1, -1).astype(np.int8)


def _rejection(row: int, indices: list[int], values: list[float], n_slots: int) -> FeatureError:
    for index, value in zip(indices, values, strict=True):
        if not 0 <= index < n_slots:
            return FeatureError(f"row {row}: feature {index} is not an integer from 0 to {n_slots - 1}")
        if not abs(value) <= MAX_MAGNITUDE:
            return FeatureError(f"row {row}: {reject_features({index: value})}")
    twice = next(index for index in indices if indices.count(index) > 1)
    return FeatureError(f"row {row}: feature {twice} occurs twice; add its values up first")
