"""Mini-batches from data frames. In: a frame and a series. Out: what row by row gives, bit for bit.

Frames may be of pandas, polars or whatever else narwhals knows; what comes out is of the same kind.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from river import base

from perceptron_core.errors import LearnerError


class FrameClassifier(base.MiniBatchClassifier):
    """A classifier that takes data frames row by row.

    River's linear models make one step for a whole mini-batch. Here a frame is no more than a way to
    hand over many examples: the same steps, in the order of the rows.
    """

    @abc.abstractmethod
    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example of weight `w`."""

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
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
            As `learn_one` for the first row it refuses, which the message names; the rows before it
            have been learned.
        ValueError
            If the lengths differ, or a weight is refused.

        """
        from river.utils import dataframe  # noqa: PLC0415  takes long to import

        labels = dataframe.into_series(y).to_list()
        weights = repeat(w, len(labels)) if isinstance(w, int | float) else dataframe.into_series(w).to_list()
        learned = 0
        try:
            for x, label, weight in zip(_rows(X), labels, weights, strict=True):
                self.learn_one(x, label, weight)
                learned += 1
        except LearnerError as error:
            raise type(error)(f"row {learned}: {error}") from None

    def predict_many(self, X: Any) -> Any:
        """Predict the class of each row: a series."""
        from river.utils import dataframe  # noqa: PLC0415  takes long to import

        return dataframe.to_native_series(_each(self.predict_one, X), name=None, like=dataframe.into_frame(X))

    def predict_proba_many(self, X: Any) -> Any:
        """Give the probabilities of each row: a data frame with a column for each class."""
        from river.utils import dataframe  # noqa: PLC0415  takes long to import

        rows = _each(self.predict_proba_one, X)
        classes = dict.fromkeys((*self._known_classes(), *(label for row in rows for label in row)))
        columns = {label: [row.get(label, 0.0) for row in rows] for label in classes}
        return dataframe.to_native_frame(columns, like=dataframe.into_frame(X))

    def _known_classes(self) -> Iterable[Hashable]:
        """Give the classes that are known whatever the rows say."""
        return ()


def _rows(X: Any) -> Iterator[dict[Hashable, Any]]:
    from river.utils import dataframe  # noqa: PLC0415  takes long to import

    frame = dataframe.into_frame(X)
    columns: Sequence[Hashable] = frame.columns
    for row in frame.iter_rows():
        yield dict(zip(columns, row, strict=True))


def _each(predict: Callable[[dict[Hashable, Any]], Any], X: Any) -> list[Any]:
    predicted: list[Any] = []
    try:
        predicted.extend(map(predict, _rows(X)))
    except LearnerError as error:
        raise type(error)(f"row {len(predicted)}: {error}") from None
    return predicted
