"""Settings of how much the labels of each class count in learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from service.messages.labels import MAX_WEIGHT, Truth, Vocabulary

ClassWeight = Annotated[float, Field(strict=True, ge=0, le=MAX_WEIGHT)]


def weights_of(named: Mapping[str, float], classes: Sequence[str]) -> dict[Truth, float]:
    """Return the weights by class.

    >>> weights_of({"spam": 20.0}, ("ham", "spam"))
    {True: 20.0}

    Raises
    ------
    ValueError
        A name denotes none of these classes, or two denote the same; `Settings` has none such.

    """
    vocabulary = Vocabulary(classes)
    found = {vocabulary.truth_of_text(name): weight for name, weight in named.items()}
    if len(found) < len(named):
        raise ValueError(f"two of {', '.join(named)} denote the same class")
    return found
