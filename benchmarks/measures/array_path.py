"""The one place that knows how rows and texts are predicted and learned in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from perceptron_core import HashedClassifier, Perceptron

if TYPE_CHECKING:
    from perceptron_core.text.hasher import TextHasher


class Rows(Protocol):
    """Sparse rows (CSR), as `perceptron_core.text.hasher` makes them."""

    indptr: Any
    indices: Any
    values: Any


def text_hasher(bits: int, **options: Any) -> TextHasher:  # noqa: ANN401 - as the class takes them
    """Make what turns texts into rows."""
    from perceptron_core.text.hasher import TextHasher  # noqa: PLC0415 - a failure is that of one measure

    return TextHasher(bits, **options)


def hashed_perceptron(bits: int) -> HashedClassifier:
    """Make a perceptron whose features are indices below 2**bits."""
    return HashedClassifier(Perceptron(), bits)


def predict_and_learn(
    model: HashedClassifier, rows: Rows, labels: Sequence[bool] | npt.NDArray[np.bool_]
) -> None:
    """Predict each row, then learn it, before the next is looked at."""
    model.predict_learn_rows(rows, labels)


def predict_and_learn_texts(
    model: HashedClassifier, hasher: TextHasher, texts: Sequence[str], labels: Sequence[bool]
) -> None:
    """Hash each text, predict it, then learn it."""
    model.predict_learn_texts(hasher, texts, labels)
