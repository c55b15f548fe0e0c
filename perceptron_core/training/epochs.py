"""Train over a finite set: epochs, orders, learning curves, held-out examples."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

from perceptron_core import sparse_vectors as sparse
from perceptron_core.linear.binary import Features
from perceptron_core.linear.perceptron import Perceptron
from perceptron_core.theory.geometry import Example, Examples
from perceptron_core.validation import sign_of

if TYPE_CHECKING:
    import numpy as np


def seeded_generator(seed: int) -> np.random.Generator:
    """Return a generator of pseudo-random numbers: NumPy's PCG64."""
    from numpy.random import default_rng  # noqa: PLC0415  takes long to import, and streams need no chance

    return default_rng(seed)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Assessment:
    """The result of `perceptron_test`."""

    predictions: tuple[Any, ...]
    mistakes: int

    @property
    def error(self) -> float:
        """Share of wrong predictions; nan for no examples."""
        return self.mistakes / len(self.predictions) if self.predictions else math.nan


def perceptron_test(model: Any, examples: Examples) -> Assessment:
    """Predict labelled examples without learning from them: PerceptronTest.

    Parameters
    ----------
    model
        Any object with `predict_one`.
    examples
        Features and labels.

    References
    ----------
    Daumé III, H. (2017). A Course in Machine Learning, algorithm 6.

    Examples
    --------
    >>> from perceptron_core import Hyperplane, perceptron_test
    >>> perceptron_test(Hyperplane({"x": 1.0}), [({"x": 3.0}, True), ({"x": 2.0}, False)])
    Assessment(predictions=(True, True), mistakes=1)

    """
    predictions, mistakes = [], 0
    for x, y in examples:
        predicted = model.predict_one(x)
        mistakes += predicted != (sign_of(y) > 0 if isinstance(predicted, bool) else y)
        predictions.append(predicted)
    return Assessment(tuple(predictions), mistakes)


def hold_out(examples: Iterable[T], ratio: float, seed: int = 0) -> tuple[list[T], list[T]]:
    """Split examples at random into training and held-out examples, both in their original order.

    Parameters
    ----------
    examples
        The examples, of any type.
    ratio
        Share to hold out, between 0 and 1; both parts have at least one example.
    seed
        Seed of the split.

    Raises
    ------
    ValueError
        `ratio` is not between 0 and 1, or there are fewer than two examples.

    Examples
    --------
    >>> from perceptron_core import hold_out
    >>> training, held_out = hold_out([({"x": n}, n > 5) for n in range(10)], ratio=0.2)
    >>> len(training), len(held_out)
    (8, 2)

    """
    data = list(examples)
    if not 0 < ratio < 1:
        raise ValueError(f"the ratio to hold out must lie between 0 and 1, not be {ratio!r}")
    if len(data) < 2:  # noqa: PLR2004  one on either side
        raise ValueError(f"{len(data)} examples are too few to hold some out")
    n_held_out = min(max(1, round(ratio * len(data))), len(data) - 1)
    chosen = set(seeded_generator(seed).permutation(len(data))[:n_held_out].tolist())
    return (
        [example for number, example in enumerate(data) if number not in chosen],
        [example for number, example in enumerate(data) if number in chosen],
    )


Stopped = Literal["max_iter", "converged", "quiet", "patience"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One point of the learning curve.

    Attributes
    ----------
    number : int
        Number of the epoch, from 1.
    draws : int
        Number of learned examples: all, unless training stopped within the epoch.
    mistakes, updates : int
        Mistakes and updates during the epoch; each example is predicted before it is learned.
    training_error, held_out_error : float or None
        Errors of the model at the end of the epoch; None without held-out examples.

    """

    number: int
    draws: int
    mistakes: int
    updates: int
    training_error: float
    held_out_error: float | None


@dataclass(frozen=True, slots=True)
class Training:
    """The result of `perceptron_train`.

    Attributes
    ----------
    model : classifier
        With held-out examples, the model at the end of the best epoch; otherwise of the last epoch.
    curve : tuple of Epoch
        The learning curve.
    best_epoch : int
        The epoch of `model`, from 1: with held-out examples, the epoch with their smallest error.
    stopped : {"max_iter", "converged", "quiet", "patience"}
        Why training ended.

    """

    model: Any
    curve: tuple[Epoch, ...]
    best_epoch: int
    stopped: Stopped

    @property
    def epochs(self) -> int:
        """Number of epochs; the last one may be incomplete."""
        return len(self.curve)

    @property
    def updates(self) -> int:
        """Number of updates in all epochs."""
        return sum(epoch.updates for epoch in self.curve)

    @property
    def mistakes(self) -> int:
        """Number of mistakes in all epochs."""
        return sum(epoch.mistakes for epoch in self.curve)

    @property
    def converged(self) -> bool:
        """Whether an epoch passed without an update."""
        return self.stopped == "converged"

    @property
    def best(self) -> Epoch:
        """The point of the curve of `model`."""
        return self.curve[self.best_epoch - 1]


if TYPE_CHECKING:
    import numpy as np

Order = Literal["shuffle", "constant", "random"]
Start = Literal["zero", "random"]


class Learner(Protocol):
    """What training needs from a learner; all classifiers of this package have it."""

    n_mistakes: int
    n_updates: int

    def clone(self) -> Self:
        """Return an untrained learner with the same parameters."""

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn from one example."""

    def predict_one(self, x: Features) -> Any:
        """Predict the class of `x`."""


def perceptron_train(
    examples: Examples,
    max_iter: int = 10,
    *,
    learner: Learner | None = None,
    order: Order = "shuffle",
    start: Start = "zero",
    seed: int = 0,
    weights: Sequence[float] | None = None,
    stop_on_convergence: bool = True,
    quiet_draws: int | None = None,
    held_out: Examples = (),
    patience: int | None = None,
    observe: Callable[[Epoch], None] = lambda _: None,
) -> Training:
    """Train a learner on a finite set: PerceptronTrain(D, MaxIter).

    Parameters
    ----------
    examples
        Features and labels; kept in memory.
    max_iter
        MaxIter, the largest number of epochs: few underfit, many overfit.
    learner
        The learner, by default `Perceptron()`; an untrained clone of it is trained.
    order
        "shuffle": each example once per epoch, each time in a new order (Daumé). "constant": in the given
        order, which learns slowly, in particular with all examples of one class first. "random": as many
        draws with replacement as there are examples (Nath).
    start
        "zero", or "random": weights and intercept are drawn from the standard normal distribution, for
        learners with `weights` and `bias`.
    seed
        Seed of all random numbers; the same seed gives the same result.
    weights
        Weight of each example, the `w` of the learner's `learn_one`; None: 1 each. Errors are counted without
        weights.
    stop_on_convergence
        Whether to stop after an epoch without an update: a mistake-driven learner would make no update in any
        later epoch (Gormley). This does not hold for draws with replacement.
    quiet_draws
        Stop after this many consecutive draws without an update, even within an epoch (Nath).
    held_out
        Examples that are not learned: the result is the model of the first epoch with the smallest error on
        them.
    patience
        Early stopping: end after this many epochs without a smaller held-out error.
    observe
        Called with each epoch at its end.

    Raises
    ------
    ValueError
        There are no examples, or a parameter is invalid. `FeatureError` and `LabelError` as in learning.

    References
    ----------
    Daumé III, H. (2017). A Course in Machine Learning, algorithm 5 and section 4.3.

    Examples
    --------
    >>> from perceptron_core import perceptron_train
    >>> corners = [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    >>> training = perceptron_train([(x, x["a"] and x["b"]) for x in corners], 20)
    >>> training.converged, training.curve[-1].training_error
    (True, 0.0)

    """
    data, unseen = list(examples), list(held_out)
    _check(data, unseen, weights, max_iter, quiet_draws, patience)
    if order not in {"shuffle", "constant", "random"} or start not in {"zero", "random"}:
        raise ValueError(f"unknown order {order!r} or start {start!r}")
    generator = seeded_generator(seed)
    model = Perceptron() if learner is None else learner.clone()
    if start == "random":
        _start_at_random(model, data, generator)
    run = _Run(model, data, unseen, order, generator)
    if weights is not None:
        run.lessons = [(*example, w) for example, w in zip(data, weights, strict=True)]
    run.quiet_draws = quiet_draws
    run.patience = patience
    run.converges = stop_on_convergence and order != "random"
    stopped = run.through(max_iter, observe)
    return Training(run.best_model if unseen else model, tuple(run.curve), run.best_epoch, stopped)


class _Run:
    """A running training."""

    quiet_draws: int | None = None
    patience: int | None = None
    converges = True

    def __init__(
        self,
        model: Learner,
        data: Sequence[Example],
        held_out: Sequence[Example],
        order: Order,
        generator: np.random.Generator,
    ) -> None:
        self.model = model
        self.best_model = model
        self.best_epoch = 0
        self.curve: list[Epoch] = []
        self.lessons: Sequence[tuple[Any, ...]] = data
        """Arguments of `learn_one` for each example."""
        self._data = data
        self._held_out = held_out
        self._order = order
        self._generator = generator
        self._quiet = 0

    def through(self, max_iter: int, observe: Callable[[Epoch], None]) -> Stopped:
        """Run the epochs; return why they ended."""
        for number in range(1, max_iter + 1):
            epoch = self._epoch(number)
            self.curve.append(epoch)
            self._keep_the_best(epoch)
            observe(epoch)
            if reason := self._reason_to_stop(epoch):
                return reason
        return "max_iter"

    def _epoch(self, number: int) -> Epoch:
        mistakes, updates = self.model.n_mistakes, self.model.n_updates
        draws = self._learn()
        return Epoch(
            number,
            draws,
            self.model.n_mistakes - mistakes,
            self.model.n_updates - updates,
            perceptron_test(self.model, self._data).error,
            perceptron_test(self.model, self._held_out).error if self._held_out else None,
        )

    def _learn(self) -> int:
        """Learn each draw of an epoch; return their number."""
        model, limit = self.model, self.quiet_draws or math.inf
        drawn = self._drawn()
        for number, index in enumerate(drawn, start=1):
            before = model.n_updates
            model.learn_one(*self.lessons[index])
            self._quiet = self._quiet + 1 if model.n_updates == before else 0
            if self._quiet >= limit:
                return number
        return len(drawn)

    def _drawn(self) -> Sequence[int]:
        n = len(self._data)
        if self._order == "constant":
            return range(n)
        shuffled = self._order == "shuffle"
        drawn: list[int] = (
            self._generator.permutation(n) if shuffled else self._generator.integers(n, size=n)
        ).tolist()
        return drawn

    def _keep_the_best(self, epoch: Epoch) -> None:
        if epoch.held_out_error is None:
            self.best_epoch = epoch.number
        elif not self.best_epoch or epoch.held_out_error < self._best_error():
            self.best_epoch = epoch.number
            self.best_model = copy.deepcopy(self.model)

    def _best_error(self) -> float:
        error = self.curve[self.best_epoch - 1].held_out_error
        assert error is not None
        return error

    def _reason_to_stop(self, epoch: Epoch) -> Stopped | None:
        if self.converges and not epoch.updates and epoch.draws == len(self._data):
            return "converged"
        if self.quiet_draws and self._quiet >= self.quiet_draws:
            return "quiet"
        if self.patience and epoch.number - self.best_epoch >= self.patience:
            return "patience"
        return None


def _check(
    data: Sequence[Example],
    held_out: Sequence[Example],
    weights: Sequence[float] | None,
    max_iter: int,
    quiet_draws: int | None,
    patience: int | None,
) -> None:
    if not data:
        raise ValueError("data: expected at least one example, got none")
    if weights is not None and len(weights) != len(data):
        raise ValueError(f"weights: expected one for each of {len(data)} examples, got {len(weights)}")
    for name, value in (("max_iter", max_iter), ("quiet_draws", quiet_draws), ("patience", patience)):
        if value is not None and value < 1:
            raise ValueError(f"{name}: expected at least 1, got {value!r}")
    if patience is not None and not held_out:
        raise ValueError("patience: expected held-out examples with it, got none")


def _start_at_random(model: Any, data: Sequence[Example], generator: np.random.Generator) -> None:
    """Set a random weight for every feature, and for the intercept if there is one."""
    if not {"weights", "bias"} <= set(getattr(model, "STATE", ())) or not isinstance(model.bias, float):
        raise ValueError(f"{type(model).__name__} has no weights and bias to start at random")
    names = dict.fromkeys(name for x, _ in data for name in x)
    drawn: sparse.Vector = dict(zip(names, generator.standard_normal(len(names)).tolist(), strict=True))
    model.weights = drawn
    if getattr(model, "fit_intercept", True):
        model.bias = float(generator.standard_normal())
