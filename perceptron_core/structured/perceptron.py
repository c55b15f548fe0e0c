"""The structured perceptron: tag sequences, decoded by Viterbi's algorithm."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from perceptron_core.linear import restored
from perceptron_core.sparse_vectors import checked
from perceptron_core.validation import MAX_LEARNED, FeatureError, LabelError

Matrix = NDArray[np.float64]

_ZERO_ROW: Final = 0
"""A row of zeros, for keys without a row."""

_FIRST_CAPACITY: Final = 64


class Bag(NamedTuple):
    """Keys of rows to be summed, each with a factor."""

    keys: Sequence[Hashable]
    values: Sequence[float] | None = None
    """None: 1 each."""


class AveragedTable:
    """A row of weights for each key, a column for each class, and the sums for the mean of the iterates.

    An iterate is the table after an example. `_late` sums each change times the number of examples before
    it; after c examples the mean of the iterates is (c·table − `_late`) / c (Daumé, CIML, algorithm 7).
    """

    def __init__(self) -> None:
        self._row_of: dict[Hashable, int] = {}
        self._n_columns = 0
        self._table = np.zeros((_FIRST_CAPACITY, 0))
        self._late = np.zeros((_FIRST_CAPACITY, 0))

    @property
    def keys(self) -> list[Hashable]:
        """Keys of the rows, in their order."""
        return list(self._row_of)

    def add_column(self) -> None:
        """Start a column of zeros."""
        self._n_columns += 1
        self._table, self._late = (np.pad(t, ((0, 0), (0, 1))) for t in (self._table, self._late))

    def add_row(self, key: Hashable) -> int:
        """Return the number of a key's row, which starts with zeros."""
        row = self._row_of.setdefault(key, len(self._row_of) + 1)
        if row >= len(self._table):
            self._table, self._late = (np.pad(t, ((0, len(t)), (0, 0))) for t in (self._table, self._late))
        return row

    def sums(self, bags: Sequence[Bag], n_averaged: int | None = None) -> Matrix:
        """Sum the rows of each bag, times their factors; a key without a row counts as zeros.

        Parameters
        ----------
        bags
            One or more.
        n_averaged
            Number of iterates whose mean is used. None: the current table.

        """
        rows, factors, starts = self._flatten(bags)
        total = _sums(self._table, rows, factors, starts)
        if not n_averaged:
            return total
        return (n_averaged * total - _sums(self._late, rows, factors, starts)) / n_averaged

    def values(self, n_averaged: int | None = None) -> Matrix:
        """Return all rows as `sums` uses them, in the order in which they were added."""
        used = slice(1, len(self._row_of) + 1)
        if not n_averaged:
            return self._table[used]
        return (n_averaged * self._table[used] - self._late[used]) / n_averaged

    def entries(self, n_averaged: int | None = None) -> Iterator[tuple[Hashable, int, float]]:
        """Yield (key, column, value) for each value that is not 0."""
        values = self.values(n_averaged)
        keys = self.keys
        for row, column in zip(*np.nonzero(values), strict=True):
            yield keys[row], int(column), float(values[row, column])

    def add(self, changes: Iterable[tuple[Bag, int, float]], n_before: int) -> None:
        """For each change, add factor times size to its column, in the rows of its bag.

        Parameters
        ----------
        changes
            (bag, column, size).
        n_before
            Number of examples before this one.

        """
        rows: list[int] = []
        columns: list[int] = []
        sizes: list[float] = []
        for bag, column, size in changes:
            rows += [self.add_row(key) for key in bag.keys]
            columns += [column] * len(bag.keys)
            sizes += [size] * len(bag.keys) if bag.values is None else [size * v for v in bag.values]
        where = np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)
        np.add.at(self._table, where, np.array(sizes))
        np.add.at(self._late, where, np.array(sizes) * n_before)

    def state(self) -> dict[str, Any]:
        """Return the table as plain values: keys, and values that are not 0 as little-endian bytes."""
        used = slice(0, len(self._row_of) + 1)
        table, late = self._table[used].ravel(), self._late[used].ravel()
        (where,) = np.nonzero((table != 0) | (late != 0))
        return {
            "keys": self.keys,
            "columns": self._n_columns,
            "where": where.astype("<i8").tobytes(),
            "table": table[where].astype("<f8").tobytes(),
            "late": late[where].astype("<f8").tobytes(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state`. Raises `ValueError` for other values."""
        rows = {key: row for row, key in enumerate(state["keys"], start=1)}
        n_columns = restored.count(state["columns"])
        where = np.frombuffer(state["where"], dtype="<i8")
        table, late = (np.frombuffer(state[name], dtype="<f8") for name in ("table", "late"))
        if len(rows) < len(state["keys"]):
            raise ValueError("two rows have the same key")
        is_there = (where >= n_columns) & (where < (len(rows) + 1) * n_columns)  # not in the row of zeros
        if not len(where) == len(table) == len(late) or not is_there.all():
            raise ValueError(
                f"{len(table)} and {len(late)} weights are at {len(where)} places of {len(rows)} rows"
            )
        if not (np.abs([table, late]) <= MAX_LEARNED).all():
            raise ValueError("a weight is outside the range of learned weights")
        shape = max(_FIRST_CAPACITY, len(rows) + 1), n_columns
        self._row_of, self._n_columns = rows, n_columns
        self._table, self._late = np.zeros(shape), np.zeros(shape)
        self._table.ravel()[where] = table
        self._late.ravel()[where] = late

    def _flatten(self, bags: Sequence[Bag]) -> tuple[NDArray[np.intp], Matrix | None, NDArray[np.intp]]:
        """List the rows of all bags; each bag begins with the zero row, so that none is empty."""
        find = self._row_of.get
        rows: list[int] = []
        starts = []
        for bag in bags:
            starts.append(len(rows))
            rows.append(_ZERO_ROW)
            rows += [find(key, _ZERO_ROW) for key in bag.keys]
        return np.array(rows, dtype=np.intp), _factors(bags), np.array(starts, dtype=np.intp)


def _factors(bags: Sequence[Bag]) -> Matrix | None:
    if all(bag.values is None for bag in bags):
        return None
    factors: list[float] = []
    for bag in bags:
        factors.append(0.0)
        factors += [1.0] * len(bag.keys) if bag.values is None else bag.values
    return np.array(factors)


def _sums(table: Matrix, rows: NDArray[np.intp], factors: Matrix | None, starts: NDArray[np.intp]) -> Matrix:
    chosen = table[rows]
    if factors is not None:
        chosen *= factors[:, np.newaxis]
    total: Matrix = np.add.reduceat(chosen, starts, axis=0)
    return total


def best_path(emissions: Matrix, transitions: Matrix, start: Matrix) -> list[int]:
    """Find the sequence of states with the highest total score.

    Viterbi (1967): the best path to a state at position t is the best path to some state at t − 1 and
    the transition from there. At a tie, the state with the lower number wins, from the end backwards.

    Parameters
    ----------
    emissions
        Score of each state (column) at each position (row); one position or more.
    transitions
        Score of going from a state (row) to a state (column).
    start
        Score of beginning in a state.

    Examples
    --------
    Staying in a state is worth 2, more than the second position's emission for changing it:

    >>> best_path(np.array([[3.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 2.0 * np.eye(2), np.zeros(2))
    [0, 0, 0]

    """
    incoming = np.ascontiguousarray(transitions.T)
    score = start + emissions[0]
    backward = np.empty(emissions.shape, dtype=np.intp)
    states = np.arange(len(start))
    for position in range(1, len(emissions)):
        candidates = incoming + score
        best = candidates.argmax(axis=1)
        backward[position] = best
        score = candidates[states, best] + emissions[position]
    path = [int(score.argmax())]
    for position in range(len(emissions) - 1, 0, -1):
        path.append(int(backward[position, path[-1]]))
    return path[::-1]


Tag = Hashable
Token = Mapping[Any, float] | Iterable[Hashable]
"""Features of one position: values by feature, or only features, whose value is their count."""

_START = None
"""Stands for the position before the first in `transitions`; therefore it is not a tag."""


class StructuredPerceptron(base.Base):
    """Perceptron for tag sequences: first-order features, Viterbi decoding, averaged weights.

    A sequence x of n positions with tags t scores Σ (Σ_f x_if·w[f, tᵢ] + v[tᵢ₋₁, tᵢ]), where t₀ is the
    start. The prediction is the sequence with the highest score of all. If it differs from the truth y
    anywhere, then for each position w[f, yᵢ] ← w[f, yᵢ] + x_if and w[f, tᵢ] ← w[f, tᵢ] − x_if,
    and likewise v by 1 for each transition. Otherwise nothing changes.

    This is not a `river.base.Classifier`, as an example is a whole sequence; apart from that, `learn_one` and
    `predict_one` have the same meaning.

    Parameters
    ----------
    tags
        All possible tags. None: the tags seen so far. At a tie, the earlier tag is preferred.
    averaged
        Whether `predict_one` uses the mean of the weights after each learned sequence, which is by far
        better, instead of the weights after the last one.

    Attributes
    ----------
    n_examples : int
        Number of learned sequences.
    n_mistakes : int
        Number of sequences with a wrong tag by the weights of the last iterate, before the update.
    n_updates : int
        Number of updates; fewer than mistakes only because of tags seen for the first time.

    Notes
    -----
    If some weights of length 1 score every true sequence above all others by γ or more, and the feature
    counts of two sequences for the same x have a distance of R at most, there are at most
    (R/γ)² mistakes (Collins, theorem 1). The number of sequences to choose from, which is exponential in
    n, is not in the bound.

    Each feature that was in an update has a row with a number per tag. The mean is lazy: an update also adds
    each change, times the number of sequences before it, to a second table.

    References
    ----------
    Collins, M. (2002). Discriminative training methods for hidden Markov models: theory and experiments
    with perceptron algorithms. Empirical Methods in Natural Language Processing. Figure 1, with the
    averaging of section 2.3, and pairs of tags instead of triples.

    Examples
    --------
    "run" is a noun or a verb, depending on the word before it.

    >>> from perceptron_core import StructuredPerceptron
    >>> model = StructuredPerceptron()
    >>> sentences = [("the run", "D N"), ("we run", "P V"), ("the dog", "D N"), ("we see the run", "P V D N")]
    >>> for _ in range(3):
    ...     for words, tags in sentences:
    ...         model.learn_one([[word] for word in words.split()], tags.split())
    >>> model.predict_one([["the"], ["run"]]), model.predict_one([["we"], ["run"]])
    (['D', 'N'], ['P', 'V'])
    >>> model.n_examples, model.n_mistakes, model.n_updates
    (12, 4, 4)
    >>> model.transitions["P", "V"] > 0 > model.transitions["P", "N"]
    True

    """

    def __init__(self, tags: Sequence[Tag] | None = None, averaged: bool = True) -> None:
        self.tags = None if tags is None else _check_tags(tags)
        self.averaged = averaged
        self._tag_index: dict[Tag, int] = {}
        self._emissions = AveragedTable()
        self._transitions = AveragedTable()
        self._transitions.add_row(_START)
        for tag in self.tags or ():
            self._add_tag(tag)
        self.n_examples = 0
        self.n_mistakes = 0
        self.n_updates = 0

    @property
    def weights(self) -> dict[tuple[Any, Tag], float]:
        """Non-zero weights w by (feature, tag), as `predict_one` uses them."""
        return self._entries(self._emissions)

    @property
    def transitions(self) -> dict[tuple[Tag, Tag], float]:
        """Non-zero weights v by (tag before, tag), as `predict_one` uses them; None stands for the start."""
        return self._entries(self._transitions)

    def predict_one(self, xs: Sequence[Token]) -> list[Any]:
        """Predict the tags of a sequence.

        Parameters
        ----------
        xs
            Features by position.

        Returns
        -------
        A tag for each position; None for each while no tag is known.

        Raises
        ------
        FeatureError
            A value is not finite or is larger than 1e100.

        """
        tokens = [_bag(token) for token in xs]
        if not tokens or not self._tag_index:
            return [None] * len(tokens)
        known = list(self._tag_index)
        return [known[state] for state in self._decode(tokens, averaged=self.averaged)]

    def learn_one(self, xs: Sequence[Token], tags: Sequence[Tag]) -> None:
        """Learn from one sequence.

        Parameters
        ----------
        xs
            Features by position.
        tags
            The true tag of each position: any hashable value except None.

        Raises
        ------
        FeatureError, LabelError
            A value is not finite or larger than 1e100; the numbers of tags and positions differ, or a tag is
            not in the given `tags`. The state is unchanged.

        """
        tokens = [_bag(token) for token in xs]
        unknown = self._unknown_tags(tags, len(tokens))
        for tag in unknown:
            self._add_tag(tag)
        if tokens:
            truth = [self._tag_index[tag] for tag in tags]
            predicted = self._decode(tokens, averaged=False)
            self.n_mistakes += bool(unknown) or predicted != truth
            if predicted != truth:
                self._update(tokens, truth, predicted)
                self.n_updates += 1
        self.n_examples += 1

    def _decode(self, tokens: Sequence[Bag], *, averaged: bool) -> list[int]:
        """Find the best sequence, as numbers of tags, for at least one position and one known tag."""
        c = self.n_examples if averaged else None
        moves = self._transitions.values(c)
        return best_path(self._emissions.sums(tokens, c), moves[1:], moves[0])

    def _update(self, tokens: Sequence[Bag], truth: Sequence[int], predicted: Sequence[int]) -> None:
        """Add the features of the true sequence, subtract the features of the predicted one."""
        before = (_START, *self._tag_index)  # tag number i is before[i + 1]
        last_true = last_guess = -1
        observed, moved = [], []
        for token, true, guess in zip(tokens, truth, predicted, strict=True):
            if true != guess:
                observed += [(token, true, 1.0), (token, guess, -1.0)]
            if (last_true, true) != (last_guess, guess):
                moved += [
                    (Bag([before[last_true + 1]]), true, 1.0),
                    (Bag([before[last_guess + 1]]), guess, -1.0),
                ]
            last_true, last_guess = true, guess
        self._emissions.add(observed, self.n_examples)
        self._transitions.add(moved, self.n_examples)

    def _unknown_tags(self, tags: Sequence[Tag], n_positions: int) -> list[Tag]:
        """List the tags not seen so far. Raises `LabelError` if the tags cannot be learned."""
        if len(tags) != n_positions:
            raise LabelError(f"{len(tags)} tags for {n_positions} positions")
        unknown = [tag for tag in _distinct(tags) if tag not in self._tag_index]
        if unknown and self.tags is not None:
            raise LabelError(f"unknown tag {unknown[0]!r}, expected one of {self.tags}")
        return unknown

    def _add_tag(self, tag: Tag) -> None:
        """Add a tag with zero weights; at ties it is last."""
        self._tag_index[tag] = len(self._tag_index)
        self._emissions.add_column()
        self._transitions.add_column()
        self._transitions.add_row(tag)

    def _entries(self, table: AveragedTable) -> dict[tuple[Any, Tag], float]:
        tags = list(self._tag_index)
        c = self.n_examples if self.averaged else None
        return {(key, tags[column]): value for key, column, value in table.entries(c)}

    def _get_state(self) -> dict[str, Any]:
        return {
            "tags": list(self._tag_index),
            "emissions": self._emissions.state(),
            "transitions": self._transitions.state(),
            "counts": (self.n_examples, self.n_mistakes, self.n_updates),
        }

    def _set_state(self, state: Mapping[str, Any]) -> None:
        tags = restored.classes(state["tags"], self.tags)
        self._tag_index = {tag: number for number, tag in enumerate(tags)}
        self._emissions.restore(state["emissions"])
        self._transitions.restore(state["transitions"])
        if self._transitions.keys != [_START, *tags]:
            raise ValueError(f"transitions are between {self._transitions.keys!r:.100}, not {tags!r:.100}")
        self.n_examples, self.n_mistakes, self.n_updates = map(restored.count, state["counts"])


def _bag(token: Token) -> Bag:
    """Read the features of a position. Raises `FeatureError` for features of other types."""
    if isinstance(token, Mapping):
        entries = checked(token)
        return Bag([name for name, _ in entries], [value for _, value in entries])
    if isinstance(token, str):
        raise FeatureError(f"expected the features of a position, got the string {token!r}")
    try:
        features = list(token)
        frozenset(features)  # checks that each is hashable
    except TypeError:
        raise FeatureError(f"{token!r} holds no hashable features") from None
    return Bag(features)


def _check_tags(tags: Sequence[Tag]) -> tuple[Tag, ...]:
    if isinstance(tags, str) or not tags or len(_distinct(tags)) != len(tags):
        raise ValueError(f"tags: expected different tags, one or more, got {tags!r}")
    return tuple(tags)


def _distinct(tags: Sequence[Tag]) -> list[Tag]:
    """List each tag once, in order. Raises `LabelError` for what can be none."""
    try:
        distinct = list(dict.fromkeys(tags))
    except TypeError:
        raise LabelError(f"tags: expected hashable values, got {tags!r}") from None
    if _START in distinct:
        raise LabelError("tags: expected values other than None, which stands for the start")
    return distinct
