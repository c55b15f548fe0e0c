"""The learners of one class, and the mixers of their log-odds.

`ensemble.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.auto.layout import GRAMS, N_MAPS, WORDS
from perceptron_core.base import restored
from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.mixing.experts import CLIP
from perceptron_core.mixing.mixer import Mixer
from perceptron_core.weights.buffers import doubles, from_bytes, integers
from perceptron_core.weights.example import Column, Example

MOST_EXPERTS: Final = 32
HEADER: Final = 4
"""Numbers in front of what was said: of ensembles, of learners and candidates in each, and of the leader."""

_IN_A_LINE: Final = 8
"""Numbers in a line of the processor's cache."""

_MOST_CACHED: Final = 8192
"""Slots of the tables of a map, of all ensembles, that stay in the processor's cache."""

_NOTHING: Final = doubles(0)


class Ensemble:
    """Linear learners, each on one of the maps; two mixers over all of them; and the favourites' own answers.

    Attributes
    ----------
    rules : list
        The learners.
    answers : array
        Of the candidates for the lead, log-odds: those of the mixers, then those of the favourites.

    """

    def __init__(self, number: int, *mixers: Mixer) -> None:
        self.number = number
        """Of the class whose log-odds it computes."""
        self.names: list[str] = []
        self.rules: list[LinearRule] = []
        self.mixers = [*mixers]
        self.favourites: list[int] = []
        self.n = 0
        self.counted: frozenset[str] = frozenset()
        """Names of the learners whose tables count updates from the moment they join."""
        self._room = integers(N_MAPS)
        """Slots that the tables of each map have room for."""
        self._blocks: list[Any] = [_NOTHING] * N_MAPS
        """The cells of the tables of each map, row by row."""
        self._edges: list[list[Column]] = [[] for _ in range(N_MAPS)]
        """Columns of each map that are in different cache lines."""
        self.maps = integers(MOST_EXPERTS)
        self.factors = doubles(MOST_EXPERTS)
        self.scores = doubles(MOST_EXPERTS)
        self.inputs = doubles(MOST_EXPERTS)
        self.answers = doubles(MOST_EXPERTS)
        self.mistakes = doubles(MOST_EXPERTS)
        """Of each learner, discounted."""
        self.judged = doubles(MOST_EXPERTS)
        """The labels that each learner was judged by, discounted alike."""

    def join(
        self, name: str, rule: LinearRule, map_number: int, factor: float, weight: float, is_favourite: bool
    ) -> None:
        """Add a learner on a map, whose score times `factor` is a log-odds."""
        last = self.n
        if name in self.counted:
            rule.table.count_updates()
        self.names.append(name)
        self.rules.append(rule)
        self.maps[last] = map_number
        self.factors[last] = factor
        for mixer in self.mixers:
            mixer.join(weight)
        if is_favourite:
            self.favourites.append(last)
        self.n = last + 1
        self._room[map_number] = 0  # the new table is short

    def score(
        self, examples: list[Example], speaks: bytearray, ensembles: list[Ensemble], place: int
    ) -> None:
        """Compute `answers` for an event; learners of a map that says nothing of it count as undecided.

        `ensembles` are scored in their order, this one being at `place`.
        """
        if place == 0:
            self.prefetch(examples, len(ensembles))
        if place + 1 < len(ensembles):
            following = ensembles[place + 1]
            following.prefetch(examples, len(ensembles))
        for k in range(self.n):
            self.inputs[k] = 0.0
            if speaks[self.maps[k]]:
                rule = self.rules[k]
                x = examples[self.maps[k]]
                score = rule.score(x)
                self.scores[k] = score
                self.inputs[k] = max(-CLIP, min(score * self.factors[k], CLIP))
        for k in range(len(self.mixers)):
            mixer = self.mixers[k]
            self.answers[k] = mixer.mix(self.inputs)
        for k in range(len(self.favourites)):
            favourite = self.favourites[k]
            is_silent = not speaks[self.maps[favourite]]
            self.answers[len(self.mixers) + k] = self.answers[0] if is_silent else self.inputs[favourite]

    def prefetch(self, examples: list[Example], n_ensembles: int) -> None:
        """Ask the memory for what this and so many ensembles know of hashed features, unless it is little."""
        for number in (WORDS, GRAMS):
            if self._room[number] * n_ensembles > _MOST_CACHED:
                x = examples[number]
                for column in self._edges[number]:
                    memory.prefetch(column.cells, x.slots, 0, x.n)

    def say(self, said: array[float], start: int, n_answers: int) -> None:
        """Write down, from `start`, the inputs of the mixers and so many of `answers`."""
        for k in range(self.n):
            said[start + k] = self.inputs[k]
        for k in range(n_answers):
            said[start + self.n + k] = self.answers[k]

    def recall(self, said: memoryview[float], start: int, n: int, n_answers: int) -> None:
        """Take what `say` wrote for the first n inputs and for so many of `answers`."""
        for k in range(n):
            self.inputs[k] = said[start + k]
        for k in range(n_answers):
            self.answers[k] = said[start + n + k]

    def learn(
        self, examples: list[Example], speaks: bytearray, target: bool, w: float, discount: float
    ) -> None:
        """Learn the event whose scores are computed; earlier mistakes count less by a factor."""
        for k in range(len(self.mixers)):
            mixer = self.mixers[k]
            mixer.learn(self.inputs, target, w, mixer.mix(self.inputs))
        for k in range(self.n):
            if speaks[self.maps[k]]:
                rule = self.rules[k]
                self.mistakes[k] = discount * self.mistakes[k] + ((self.inputs[k] > 0.0) != target)
                self.judged[k] = discount * self.judged[k] + 1.0
                rule.learn_at(examples[self.maps[k]], 1 if target else -1, w, self.scores[k])

    def is_silent(self, candidate: int, speaks: bytearray) -> bool:
        """Return whether a candidate is a learner of a map that says nothing of the event shown."""
        mixers = len(self.mixers)
        return candidate >= mixers and not speaks[self.maps[self.favourites[candidate - mixers]]]

    def scored(self, number: int) -> tuple[float, float]:
        """Return the score of a learner at the event shown, and the log-odds it was taken for."""
        return self.scores[number], self.inputs[number]

    def recent_mistakes(self, number: int) -> float:
        """Return the mistakes of a learner, discounted."""
        return self.mistakes[number]

    def recent_labels(self, number: int) -> float:
        """Return the labels that a learner was judged by, discounted."""
        return self.judged[number]

    def map_of(self, number: int) -> int:
        """Return the map of a learner."""
        return self.maps[number]

    def forget(self, map_number: int, first: int, step: int) -> None:
        """Forget what the learners of a map know of each slot from `first` on, in steps."""
        for k in range(self.n):
            if self.maps[k] == map_number:
                self._reset(self.rules[k], first, step)

    def _reset(self, rule: Any, first: int, step: int) -> None:
        for slot in range(first, len(rule.weight_column.cells), step):
            rule.weight_column.cells[slot] = rule.square_column.cells[slot] = 0.0
            rule.scale_column.cells[slot] = 0.0

    def make_room(self, sizes: array[int]) -> None:
        """Make room for so many slots of each map."""
        for number in range(N_MAPS):
            if sizes[number] > self._room[number]:
                self._lay_out(number, 2 * sizes[number])
                self._room[number] = 2 * sizes[number]

    def _lay_out(self, number: int, n_slots: int) -> None:
        """Make room for so many slots of a map; all that its learners keep of one is side by side."""
        tables, columns, capacity = [], [], 1
        for k in range(self.n):
            if self.maps[k] == number:
                rule = self.rules[k]
                table = rule.table
                tables.append(table)
                columns += table.read()
        for column in columns:
            capacity = max(capacity, len(column.cells))
        before, n_before = self._blocks[number], len(columns) * capacity
        is_block = len(before) == n_before
        while capacity < n_slots:
            capacity *= 2
        block = memoryview(doubles(len(columns) * capacity))
        if is_block:
            block[:n_before] = before
        self._blocks[number] = _NOTHING  # until all columns have moved
        for k in range(len(columns)):
            column, cells = columns[k], block[k :: len(columns)]
            if not is_block:
                cells[: len(column.cells)] = memoryview(column.cells)
            column.cells = cells  # type: ignore[assignment]
        for table in tables:
            table.widen(capacity)
        self._blocks[number], self._edges[number] = block, [*columns[::_IN_A_LINE], *columns[-1:]]

    def get_state(self, sizes: array[int]) -> dict[str, Any]:
        """Return what was learned as plain values; `sizes` are the slots of each map."""
        rules = []
        for k, rule in enumerate(self.rules):
            learned = {name: getattr(rule, name) for name in _scalars_of(rule)}
            rules.append([rule.table.dump(sizes[self.maps[k]]), learned])
        return {
            "rules": rules,
            "mixers": list(map(Mixer.get_state, self.mixers)),
            "mistakes": memoryview(self.mistakes)[: self.n].tolist(),
            "judged": memoryview(self.judged)[: self.n].tolist(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take what `get_state` returned. Raises ValueError if it is of other learners."""
        for rule, (cells, learned) in zip(self.rules, state["rules"], strict=True):
            rule.table.load(cells)
            scalars = _scalars_of(rule)
            if {*learned} != {*scalars}:
                raise ValueError(f"{type(rule).__name__} has no {[*learned]!r:.200}")
            for name, value in learned.items():
                setattr(rule, name, scalars[name](value))
        for mixer, learned in zip(self.mixers, state["mixers"], strict=True):
            mixer.set_state(learned)
            if mixer.n != self.n:
                raise ValueError(f"a mixer of {mixer.n} inputs mixes {self.n}")
        for k, mistakes in enumerate(restored.several(state["mistakes"], restored.size, self.n)):
            self.mistakes[k] = mistakes
        for k, labels in enumerate(restored.several(state["judged"], restored.size, self.n)):
            self.judged[k] = labels


def _scalars_of(rule: Any) -> restored.State:
    """Return what a learner learns beside the columns of its table, and its bias in any case."""
    state = {"bias": restored.number, **rule.STATE}
    tables = (restored.columns, restored.matrix)
    return {name: state[name] for name in sorted(state) if state[name] not in tables}


def numbers_said(said: bytes) -> memoryview[float]:
    """Return the numbers that `AutoRule.said` wrote. Raises ValueError for anything else."""
    found = from_bytes("d", said)
    if len(found) >= HEADER:
        n_said, n, n_candidates, leader = found[:HEADER].tolist()
        n_numbers = n_said * (n + n_candidates)
        if 0 <= leader < n_candidates <= MOST_EXPERTS >= n >= 0 and len(found) == HEADER + n_numbers:
            return found
    if len(found):
        raise ValueError(f"{len(found)} numbers are not what `said` returned")
    return found
