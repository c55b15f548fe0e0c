"""The experts on dense maps, for several classes at once.

`several_classes.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core.auto.ensemble import MAX_EXPERTS, Ensemble
from perceptron_core.auto.plan import FOREST, LINEAR, N_MAPS
from perceptron_core.linear.one_vs_rest import OneVsRest
from perceptron_core.weights.buffers import doubles, integers
from perceptron_core.weights.example import Column, Example

_MAPS: Final = range(LINEAR, FOREST + 1)
_NO_ROOM: Final = -1


class SeveralClasses:
    """Scores and learns each event with the experts of all classes together.

    The cells of a slot form one row for all classes: by expert, then by column, then by class.
    """

    def __init__(self) -> None:
        self._experts: list[OneVsRest] = []
        self._places = integers(MAX_EXPERTS)
        """Position of each expert in an ensemble."""
        self._maps = integers(MAX_EXPERTS)
        self._room = integers(N_MAPS)
        """Capacity of each map, in slots."""
        self._blocks: list[Any] = [None] * N_MAPS
        self._widths, self._capacities = integers(N_MAPS), integers(N_MAPS)
        self._n_classes = self._n_experts = self._n_lanes = 0

    def reserve(self, ensembles: list[Ensemble], sizes: array[int]) -> None:
        """Make room for all classes and experts, and for `sizes` slots of each map."""
        if len(ensembles) != self._n_classes or ensembles[0].n != self._n_experts:
            self._gather(ensembles)
        for number in _MAPS:
            if sizes[number] > self._room[number]:
                room = sizes[number] if self._room[number] == _NO_ROOM else 2 * sizes[number]
                self._room[number] = _NO_ROOM  # until all columns are moved
                self._lay_out(number, room)
                self._room[number] = room

    def _gather(self, ensembles: list[Ensemble]) -> None:
        """Combine the experts of each kind; rows with spare cells for new classes are kept."""
        first, n_before = ensembles[0], self._n_classes
        experts: list[OneVsRest] = []
        self._n_classes = 0  # until all are combined
        for k in range(first.n):
            if first.maps[k] in _MAPS:
                self._places[len(experts)], self._maps[len(experts)] = k, first.maps[k]
                rules = []
                for ensemble in ensembles:
                    rules.append(ensemble.rules[k])
                experts.append(OneVsRest(rules))
        for ensemble in ensembles:
            for expert in range(len(experts)):
                ensemble.move_out(self._maps[expert])
        is_same = n_before > 0 and first.n == self._n_experts and len(experts) > 0
        stays = is_same and self._n_lanes == experts[0].n_lanes
        self._experts, self._n_experts = experts, first.n
        for number in _MAPS:
            if stays and self._room[number] != _NO_ROOM:
                self._move_cells(number, n_before, len(ensembles))
            else:
                self._room[number] = _NO_ROOM
        self._n_lanes = experts[0].n_lanes if experts else 0
        self._n_classes = len(ensembles)

    def _lay_out(self, number: int, n_slots: int) -> None:
        """Move the cells of a map's experts into rows for `n_slots` slots."""
        capacity, width = 1, 0
        for one in self._experts_of(number):
            for rule in one.rules:
                for column in rule.table.read():
                    capacity = max(capacity, len(column.cells))
            width += one.n_lanes * len(one.rules[0].table.read())
        while capacity < n_slots:
            capacity *= 2
        self._blocks[number] = doubles(capacity * width)
        self._widths[number], self._capacities[number] = width, capacity
        self._move_cells(number, 0, self._n_classes)

    def _move_cells(self, number: int, first: int, end: int) -> None:
        """Move the cells of some classes into the rows of a map."""
        block, width, at = self._blocks[number], self._widths[number], 0
        for one in self._experts_of(number):
            for k in range(first, end):
                rule = one.rules[k]
                columns = rule.table.read()
                for j in range(len(columns)):
                    _move(columns[j], memoryview(block)[at + j * one.n_lanes + k :: width])
                rule.table.fix_slots(self._capacities[number])
            one.settle(block, at, width)
            at += one.n_lanes * len(one.rules[0].table.read())

    def _experts_of(self, number: int) -> list[OneVsRest]:
        """Return the experts on a map."""
        found = []
        for k in range(len(self._experts)):
            if self._maps[k] == number:
                found.append(self._experts[k])
        return found

    def score(self, ensembles: list[Ensemble], examples: list[Example], active: bytearray) -> None:
        """Compute the scores of an event; scores of inactive maps are unchanged."""
        for k in range(len(self._experts)):
            if active[self._maps[k]]:
                expert = self._experts[k]
                expert.score(examples[self._maps[k]])
                for number in range(len(ensembles)):
                    ensemble = ensembles[number]
                    ensemble.scores[self._places[k]] = expert.scores[number]

    def learn(self, examples: list[Example], active: bytearray, number: int, w: float) -> None:
        """Learn the scored event, with its class and weight."""
        for k in range(len(self._experts)):
            if active[self._maps[k]]:
                expert = self._experts[k]
                expert.learn(examples[self._maps[k]], number, w)


def _move(column: Column, cells: Any) -> None:
    cells[: len(column.cells)] = memoryview(column.cells)
    column.cells = cells
