"""The learning curve of a training, and its best point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Stopped = Literal["max_iter", "converged", "quiet", "patience"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One point of the learning curve.

    Attributes
    ----------
    number : int
        From 1.
    draws : int
        Examples learned from: all of them, unless training stopped within the epoch.
    mistakes, updates : int
        Made on the way, each prediction before learning from its example.
    training_error, held_out_error : float or None
        Of the model at the end of the epoch; None where nothing is held out.

    """

    number: int
    draws: int
    mistakes: int
    updates: int
    training_error: float
    held_out_error: float | None


@dataclass(frozen=True, slots=True)
class Training:
    """What `perceptron_train` made.

    Attributes
    ----------
    model : classifier
        With held-out data, the model at the end of the best epoch; otherwise at the end of the last.
    curve : tuple of Epoch
        The learning curve.
    best_epoch : int
        The epoch, from 1, that `model` comes from: the sweet spot, where anything is held out.
    stopped : {"max_iter", "converged", "quiet", "patience"}
        Why training ended.

    """

    model: Any
    curve: tuple[Epoch, ...]
    best_epoch: int
    stopped: Stopped

    @property
    def epochs(self) -> int:
        """Epochs made, the last one perhaps in part."""
        return len(self.curve)

    @property
    def updates(self) -> int:
        """Updates made in all epochs."""
        return sum(epoch.updates for epoch in self.curve)

    @property
    def mistakes(self) -> int:
        """Mistakes made in all epochs."""
        return sum(epoch.mistakes for epoch in self.curve)

    @property
    def converged(self) -> bool:
        """Whether an epoch passed without an update."""
        return self.stopped == "converged"

    @property
    def best(self) -> Epoch:
        """The point of the curve that `model` stands at."""
        return self.curve[self.best_epoch - 1]
