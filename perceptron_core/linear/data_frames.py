"""Learn or score data frames row by row, bit-identical to one example at a time.

Frames may be of pandas, polars or any other library that narwhals supports; results are of the same kind.
While River's linear models make one step for a whole mini-batch, here a frame is only a container of
examples: the steps are the same, in the order of the rows. The functions `…_many` are methods of the
classifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from perceptron_core.linear.batches import DenseBatch, decide, signs_of, weights_of
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.validation import MAX_MAGNITUDE, LearnerError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perceptron_core.linear.batches import Doubles

_NUMBERS: Final = frozenset(
    "Boolean Float32 Float64 Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64".split()  # noqa: SIM905  a list to read
)
"""narwhals' types of columns that NumPy converts to doubles."""


def learn_many(self: Any, X: Any, y: Any, w: Any = 1.0) -> None:
    """Learn from the rows of a data frame, one after the other.

    Parameters
    ----------
    X
        Data frame with a column for each feature.
    y
        Series of labels.
    w
        Weight of every example, or a series of weights.

    Raises
    ------
    LearnerError
        As `learn_one` for the first invalid row, whose number is in the message; the rows before it have been
        learned.
    ValueError
        The lengths differ, and nothing is learned; or a weight is invalid.

    """
    frame = frame_of(X)
    labels = _values(y)
    weights = [w] * len(labels) if isinstance(w, int | float) else _values(w)
    if not len(frame) == len(labels) == len(weights):
        raise ValueError(f"{len(frame)} rows, but {len(labels)} labels and {len(weights)} weights")
    learned = 0
    try:
        learned = self._learn_leading(frame, labels, weights)
        for x, label, weight in zip(
            rows_of(frame, learned), labels[learned:], weights[learned:], strict=True
        ):
            self.learn_one(x, label, weight)
            learned += 1
    except LearnerError as error:
        raise type(error)(f"row {learned}: {error}") from None


def predict_many(self: Any, X: Any) -> Any:
    """Return the predicted classes of the rows as a series."""
    frame = frame_of(X)
    return series_like(frame, _each(self._predict_leading, self.predict_one, frame))


def predict_proba_many(self: Any, X: Any) -> Any:
    """Return the probabilities of the rows as a data frame with a column for each class."""
    frame = frame_of(X)
    rows = _each(self._predict_proba_leading, self.predict_proba_one, frame)
    classes = dict.fromkeys((*self._known_classes(), *(label for row in rows for label in row)))
    return frame_like(frame, {label: [row.get(label, 0.0) for row in rows] for label in classes})


def frame_of(native: Any) -> Any:
    """Return the narwhals wrapper of a data frame."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415  takes long to import

    return nw.from_native(native, eager_only=True)


def series_like(frame: Any, values: Sequence[Any]) -> Any:
    """Return a series of the same library as a frame, with the frame's index if it has one."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415  takes long to import

    name: Any = None
    return _indexed(frame, nw.new_series(name, values, backend=frame.implementation))


def frame_like(frame: Any, columns: Mapping[Any, Sequence[Any]]) -> Any:
    """Return a frame of the same library as another, with its index if it has one."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415  takes long to import

    backend = frame.implementation
    named = columns if backend.is_pandas_like() else {str(name): each for name, each in columns.items()}
    return _indexed(frame, nw.from_dict(named, backend=backend))


def _indexed(frame: Any, made: Any) -> Any:
    import narwhals.stable.v2 as nw  # noqa: PLC0415  takes long to import

    native = made.to_native()
    if (index := nw.maybe_get_index(frame)) is not None:
        native.index = index
    return native


def _values(series: Any) -> list[Any]:
    import narwhals.stable.v2 as nw  # noqa: PLC0415  takes long to import

    values: list[Any] = nw.from_native(series, series_only=True).to_list()
    return values


def no_row_learned(self: Any, frame: Any, labels: list[Any], weights: list[Any]) -> int:  # noqa: ARG001
    """Learn no rows at once; return 0."""
    return 0


def no_row_predicted(self: Any, frame: Any) -> list[Any]:  # noqa: ARG001
    """Predict no rows at once."""
    return []


def valid_rows(frame: Any) -> NDArray[np.float64]:
    """Return the rows before the first invalid value, as a matrix.

    No rows, if a column has values other than numbers and booleans.
    """
    import numpy as np  # noqa: PLC0415  takes long to import

    matrix = np.require(_numbers(frame), requirements=["C", "W"])  # as compiled code requires
    if not matrix.size or (matrix.min() >= -MAX_MAGNITUDE and matrix.max() <= MAX_MAGNITUDE):
        return matrix
    rejected = ~(np.abs(matrix) <= MAX_MAGNITUDE).all(axis=1)
    return matrix[: rejected.argmax()]


def _numbers(frame: Any) -> NDArray[np.float64]:
    """Return a frame as doubles; missing values become NaN."""
    import numpy as np  # noqa: PLC0415  takes long to import

    if frame.implementation.is_pandas_like():
        matrix: NDArray[np.float64] = frame.to_numpy()
        if matrix.dtype == np.float64:  # checking the types of the columns would take longer
            return matrix
    if _NUMBERS.issuperset(map(str, frame.schema.values())):
        if not frame.implementation.is_pandas_like():
            return np.asarray(frame.to_numpy(), np.float64)
        missing_as_nan: NDArray[np.float64] = frame.to_native().to_numpy(np.float64, na_value=np.nan)
        return missing_as_nan
    return np.empty((0, len(frame.columns)))


def rows_of(frame: Any, first: int = 0) -> Iterator[dict[Hashable, Any]]:
    """Yield the rows from `first` on as Python values; a missing value is None."""
    columns: Sequence[Hashable] = frame.columns
    cells = [_cells(frame.get_column(name)[first:]) for name in columns]
    for row in zip(*cells, strict=True):
        yield dict(zip(columns, row, strict=True))


def _cells(column: Any) -> list[Any]:
    cells: list[Any] = column.to_list()
    for row in column.is_null().arg_true().to_list():  # NaN in pandas
        cells[row] = None
    return cells


def _each(
    predict_leading: Callable[[Any], list[Any]], predict: Callable[[dict[Hashable, Any]], Any], frame: Any
) -> list[Any]:
    """Predict the rows: the first ones at once, as far as possible, the others one by one."""
    predicted: list[Any] = []
    try:
        predicted += predict_leading(frame)
        predicted.extend(map(predict, rows_of(frame, len(predicted))))
    except LearnerError as error:
        raise type(error)(f"row {len(predicted)}: {error}") from None
    return predicted


def learn_leading(rule: LinearRule, frame: Any, labels: list[Any], weights: list[Any]) -> int:
    """Learn the valid first rows; return their number."""
    matrix = valid_rows(frame)
    signs = signs_of(labels[: len(matrix)])
    sizes = weights_of(weights[: len(signs)])
    if len(sizes):
        DenseBatch(rule.table, frame.columns, matrix).learn(rule, signs[: len(sizes)], sizes)
    return len(sizes)


def predict_leading(rule: LinearRule, frame: Any) -> list[bool]:
    """Predict the valid first rows."""
    import numpy as np  # noqa: PLC0415  takes long to import

    scores = score_leading(rule, frame)
    classes = np.empty(len(scores), bool)
    decide(rule, scores, classes.view(np.uint8))
    return classes.tolist()


def score_leading(rule: LinearRule, frame: Any) -> Doubles:
    """Compute the signed scores of the valid first rows."""
    import numpy as np  # noqa: PLC0415  takes long to import

    matrix = valid_rows(frame)
    scores = np.empty(len(matrix))
    if len(matrix):
        DenseBatch(rule.table, frame.columns, matrix).score(rule, scores)
    return scores
