"""The experts of one class, and the mixers of their log-odds.

`ensemble.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, Final

from perceptron_core.auto.plan import BOOSTED, N_MAPS
from perceptron_core.linear import restored
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.mixing.lead import Lead
from perceptron_core.mixing.mixer import LABEL_HISTORY, N_RATES, LabelHistory, Mixer
from perceptron_core.mixing.mixture import CLIP
from perceptron_core.weights.buffers import LENT_FROM_BYTES, doubles, integers, lent
from perceptron_core.weights.example import Column, Example

MAX_EXPERTS: Final = 32
SHARING: Final = 2
"""Classes that share one ensemble."""

_EQUAL: Final = 0.0625
"""Initial weight of each expert in a mixer for late labels, about the mean of the 9 to 26 experts."""


_IN_A_LINE: Final = 8
"""Doubles in a line of the processor's cache."""

_SPARE: Final = 64
"""Smallest growth of a table, in slots."""

_NOTHING: Final = doubles(0)


class ExpertTables:
    """Linear experts, each on one feature map, and the memory of their tables.

    Attributes
    ----------
    number : int
        Number of the class whose log-odds they compute.
    rules : list
        The experts.
    maps : array
        The map of each expert.

    """

    def __init__(self, number: int, n_maps: int, most: int) -> None:
        self.number = number
        self.rules: list[LinearRule] = []
        self.n = 0
        self.maps = integers(most)
        self._room = integers(n_maps)
        """Capacity of each map's tables, in slots."""
        self._blocks: list[Any] = [_NOTHING] * n_maps
        """The cells of each map's tables, row by row."""
        self._is_moved_out = bytearray(n_maps)
        """For each map, whether its experts are updated by `SeveralClasses`."""

    def add(self, rule: LinearRule, map_number: int) -> None:
        """Add an expert on a map."""
        self.rules.append(rule)
        self.maps[self.n] = map_number
        self.n += 1
        self._room[map_number] = 0  # the new table is too short

    def forget(self, map_number: int, first: int, step: int) -> None:
        """Reset the experts of a map for every `step`-th slot from `first` on."""
        for k in range(self.n):
            if self.maps[k] == map_number:
                self._reset(self.rules[k], first, step)

    def _reset(self, rule: Any, first: int, step: int) -> None:
        for slot in range(first, rule.table.n_slots, step):
            rule.weight_column.cells[slot] = rule.square_column.cells[slot] = 0.0
            rule.scale_column.cells[slot] = 0.0

    def reserve(self, sizes: array[int]) -> None:
        """Make room for `sizes` slots of each map."""
        for number in range(len(self._room)):
            if sizes[number] > self._room[number] and not self._is_moved_out[number]:
                spare = 0 if self._room[number] == 0 else sizes[number] // 4 + _SPARE
                room = sizes[number] + spare
                self._lay_out(number, room)
                self._room[number] = room

    def move_out(self, number: int) -> None:
        """Transfer the experts of a map and their cells to `SeveralClasses`, which sets `scores`."""
        self._is_moved_out[number] = True
        self._blocks[number] = _NOTHING

    def _lay_out(self, number: int, n_slots: int) -> None:
        """Make room for n slots of a map; the cells of all its experts for a slot are adjacent."""
        tables, columns, capacity, n_used = [], [], 1, 0
        for k in range(self.n):
            if self.maps[k] == number:
                rule = self.rules[k]
                table = rule.table
                tables.append(table)
                columns += table.read()
                n_used = max(n_used, table.n_slots)
        for column in columns:
            capacity = max(capacity, len(column.cells))
        is_block = len(self._blocks[number]) == len(columns) * capacity
        if not is_block or capacity < n_slots:
            self._move(number, columns, n_used, n_slots, is_block)
        for table in tables:
            table.fix_slots(n_slots)

    def _move(self, number: int, columns: list[Column], n_used: int, n_slots: int, is_block: bool) -> None:
        """Move columns with `n_used` used slots to a new block, from the old block or separately."""
        width, capacity, first = len(columns), 1, 0
        while capacity < max(n_used, n_slots):
            capacity *= 2
        if 8 * width * capacity >= LENT_FROM_BYTES:
            capacity *= 8  # memory costs nothing until it is used
            # Otherwise the rows of all classes would exceed one set of the cache.
            first = _IN_A_LINE * (self.number * 97 % 1024)
        before, block = self._blocks[number], memoryview(lent("d", first + width * capacity))[first:]
        if is_block:
            block[: width * n_used] = before[: width * n_used]
        self._blocks[number] = _NOTHING  # until all columns are moved
        for k in range(width):
            column, cells = columns[k], block[k::width]
            if not is_block:
                n = min(n_used, len(column.cells))
                cells[:n] = memoryview(column.cells)[:n]
            column.cells = cells  # type: ignore[assignment]
        self._blocks[number] = block


class Ensemble(ExpertTables):
    """Linear experts, each on one feature map, and mixers of all of them.

    Candidates for the lead are the mixers, and the experts that may predict by themselves. Some mixers are
    for late labels; others, whose inputs include the last labels, are for prompt labels.

    Attributes
    ----------
    outputs : array
        Log-odds of the candidates: the mixers, then the experts.

    """

    def __init__(self, number: int, *mixers: Mixer, n_late: int, n_prompt: int) -> None:
        super().__init__(number, N_MAPS, MAX_EXPERTS)
        self.names: list[str] = []
        self.mixers = [*mixers]
        self.n_blind = len(mixers) - n_prompt
        """Number of mixers without the last labels; those for late labels are the last of these."""
        self.n_late = n_late
        self.history = LabelHistory()
        self.information = 1.0
        """The `information` of the last learned event for `Mixer.learn`, which scales forgetting."""
        for mixer in mixers[self.n_blind :]:
            for _ in range(N_RATES):
                mixer.add_input(0.0)
        self.may_lead: list[int] = []
        self.factors = doubles(MAX_EXPERTS)
        self.scores = doubles(MAX_EXPERTS)
        self.all_inputs = doubles(N_RATES + MAX_EXPERTS)
        self.inputs: array[float] = memoryview(self.all_inputs)[N_RATES:]  # type: ignore[assignment]
        self.outputs = doubles(MAX_EXPERTS)

    def add_expert(
        self, name: str, rule: LinearRule, map_number: int, factor: float, weight: float, is_candidate: bool
    ) -> None:
        """Add an expert on a map; its score times `factor` is a log-odds."""
        last = self.n
        self.names.append(name)
        self.factors[last] = factor
        for k, mixer in enumerate(self.mixers):
            mixer.add_input(_EQUAL if self.n_blind - self.n_late <= k < self.n_blind else weight)
        if is_candidate:
            self.may_lead.append(last)
        self.add(rule, map_number)

    def score(self, examples: list[Example], active: bytearray, lead: Lead) -> None:
        """Compute `outputs` for an event; experts of inactive maps have the log-odds 0.

        Mixers that are not in use give the first mixer's prediction.
        """
        for k in range(self.n):
            self.inputs[k] = 0.0
            if active[self.maps[k]]:
                if not self._is_moved_out[self.maps[k]]:
                    rule = self.rules[k]
                    x = examples[self.maps[k]]
                    self.scores[k] = rule.score(x)
                self.inputs[k] = max(-CLIP, min(self.scores[k] * self.factors[k], CLIP))
        if self.n_history():
            self.history.write_log_odds(self.all_inputs)
        self._predict(active, lead)

    def _predict(self, active: bytearray, lead: Lead) -> None:
        """Compute the outputs of the mixers, then the candidate experts' own."""
        for k in range(len(self.mixers)):
            self.outputs[k] = self._mix(k) if lead.is_in_use(k) else self.outputs[0]
        for k in range(len(self.may_lead)):
            expert = self.may_lead[k]
            is_inactive = not active[self.maps[expert]]
            self.outputs[len(self.mixers) + k] = self.outputs[0] if is_inactive else self.inputs[expert]

    def _mix(self, k: int) -> float:
        """Return the log-odds of a mixer."""
        mixer = self.mixers[k]
        return mixer.mix(self.inputs) if k < self.n_blind else mixer.mix(self.all_inputs)

    def combined(self, lead: Lead) -> float:
        """Return the weighted log-odds of the candidates."""
        total = 0.0
        for k in range(lead.n):
            if lead.weights[k] > 0.0:
                total += lead.weights[k] * self.outputs[k]
        return total

    def write_context(self, context: array[float], start: int, n_outputs: int) -> None:
        """Write the inputs of the mixers and the first `n_outputs` outputs to `context`, from `start` on."""
        for k in range(self.n):
            context[start + k] = self.inputs[k]
        for k in range(n_outputs):
            context[start + self.n + k] = self.outputs[k]

    def read_context(self, context: memoryview[float], start: int, n: int, n_outputs: int) -> None:
        """Read the first n inputs and `n_outputs` outputs that `write_context` wrote."""
        for k in range(n):
            self.inputs[k] = context[start + k]
        for k in range(n_outputs):
            self.outputs[k] = context[start + n + k]

    def n_history(self) -> int:
        """Return the number of mixer inputs from the last labels."""
        return N_RATES if self.n_blind < len(self.mixers) else 0

    def write_history(self, context: array[float], start: int) -> None:
        """Write the mixer inputs from the last labels to `context`, from `start` on."""
        for k in range(N_RATES):
            context[start + k] = self.all_inputs[k]

    def read_history(self, context: memoryview[float], start: int) -> None:
        """Read the inputs that `write_history` wrote."""
        for k in range(N_RATES):
            self.all_inputs[k] = context[start + k]

    def learn_mixers(self, target: bool, w: float, lead: Lead, recalled: bool) -> None:
        """Update the mixers with the scored event; with `recalled`, `outputs` are from a context."""
        self.information = self.history.information() if self.n_history() else 1.0
        for k in range(len(self.mixers)):
            if lead.is_in_use(k):
                mixer, log_odds = self.mixers[k], self._mix(k) if recalled else self.outputs[k]
                if k < self.n_blind:
                    mixer.learn(self.inputs, target, w, log_odds, self.information)
                else:
                    mixer.learn(self.all_inputs, target, w, log_odds, self.information)
        self.history.count(target)

    def learn(self, examples: list[Example], active: bytearray, target: bool, w: float) -> None:
        """Update the experts with the scored event."""
        for k in range(self.n):
            if active[self.maps[k]]:
                if self._is_moved_out[self.maps[k]]:
                    continue
                rule = self.rules[k]
                rule.learn_at(examples[self.maps[k]], 1 if target else -1, w, self.scores[k])

    def is_inactive(self, candidate: int, active: bytearray) -> bool:
        """Return whether a candidate is an expert of an inactive map."""
        mixers = len(self.mixers)
        return candidate >= mixers and self.n > 0 and not active[self.maps[self.may_lead[candidate - mixers]]]

    def weights_in(self, candidate: int) -> list[float]:
        """Return the weight of each expert in a candidate's prediction."""
        if candidate < len(self.mixers):
            return self.mixers[candidate].weights[N_RATES if candidate >= self.n_blind else 0 :]
        chosen = self.may_lead[candidate - len(self.mixers)] if self.n else -1  # none with trees only
        return [1.0 if k == chosen else 0.0 for k in range(self.n)]

    def combined_weights(self, lead: Lead, active: bytearray | None = None) -> list[float]:
        """Return the weight of each expert in the prediction; inactive candidates count as the first."""
        found = [0.0] * self.n
        for k, weight in enumerate(memoryview(lead.weights)[: lead.n].tolist()):
            is_inactive = active is not None and self.is_inactive(k, active)
            added = self.weights_in(0 if is_inactive else k) if weight else ()
            for number, each in enumerate(added):
                found[number] += weight * each
        return found

    def history_contribution(self, candidate: int) -> dict[str, float]:
        """Return the contributions of the last labels to a candidate's prediction, by name."""
        if not self.n_blind <= candidate < len(self.mixers):
            return {}
        weights = self.mixers[candidate].weights[:N_RATES]
        added = fsum(weight * z for weight, z in zip(weights, self.all_inputs[:N_RATES], strict=True))
        return {LABEL_HISTORY: added}

    def score_of(self, number: int) -> tuple[float, float]:
        """Return the score of an expert for the present event, and the log-odds used for it."""
        return self.scores[number], self.inputs[number]

    def map_of(self, number: int) -> int:
        """Return the map of an expert."""
        return self.maps[number]

    def get_state(self, sizes: array[int]) -> dict[str, Any]:
        """Return the learned state as plain values; `sizes` are the slots of each map."""
        rules = []
        for k, rule in enumerate(self.rules):
            learned = {name: getattr(rule, name) for name in _scalars_of(rule)}
            rules.append([rule.table.dump(sizes[self.maps[k]]), learned])
        return {
            "rules": rules,
            "mixers": list(map(Mixer.get_state, self.mixers)),
            **({"history": self.history.get_state()} if self.n_history() else {}),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it has other experts."""
        for rule, (cells, learned) in zip(self.rules, state["rules"], strict=True):
            rule.table.load(cells)
            scalars = _scalars_of(rule)
            if {*learned} != {*scalars}:
                raise ValueError(f"{type(rule).__name__} has no {[*learned]!r:.200}")
            for name, value in learned.items():
                setattr(rule, name, scalars[name](value))
        for mixer, learned in zip(self.mixers, state["mixers"], strict=True):
            mixer.set_state(learned)
        for k, mixer in enumerate(self.mixers):
            if mixer.n != self.n + (N_RATES if k >= self.n_blind else 0):
                raise ValueError(f"a mixer of {mixer.n} inputs mixes {self.n}")
        if self.n_history():
            self.history.set_state(state["history"])


class ExpertMistakes:
    """Counts the mistakes of each expert; of several classes, it predicts the most likely one."""

    def __init__(self) -> None:
        self.all = doubles(MAX_EXPERTS)
        self.recent = doubles(MAX_EXPERTS)
        """Mistakes of each expert, discounted."""
        self.labels = doubles(MAX_EXPERTS)
        """Labels with which each expert was evaluated, discounted in the same way."""

    def count(
        self, ensembles: list[Ensemble], active: bytearray, number: int, discount: float, n: int
    ) -> int:
        """Count the mistakes of the first n experts, which had predicted, on an event of class `number`.

        Returns whether the boosted trees misclassified it, −1 if they had not predicted it.
        """
        first, boosted_is_wrong = ensembles[0], -1
        for k in range(n):
            if active[first.maps[k]]:
                best = 1 if len(ensembles) == 1 and first.inputs[k] > 0.0 else 0
                highest = first.inputs[k]
                for j in range(1, len(ensembles)):
                    ensemble = ensembles[j]
                    if ensemble.inputs[k] > highest:
                        best, highest = j, ensemble.inputs[k]
                is_wrong = best != number
                if first.maps[k] == BOOSTED:
                    boosted_is_wrong = is_wrong
                self.all[k] += is_wrong
                self.recent[k] = discount * self.recent[k] + is_wrong
                self.labels[k] = discount * self.labels[k] + 1.0
        return boosted_is_wrong

    def counts_of(self, number: int) -> tuple[int, float, float]:
        """Return the mistakes of an expert, its discounted mistakes, and its discounted labels."""
        return int(self.all[number]), self.recent[number], self.labels[number]

    def get_state(self, n: int) -> list[list[float]]:
        """Return the counts of n experts."""
        return [count[:n].tolist() for count in self._counts()]

    def set_state(self, state: Sequence[Any], n: int) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it is invalid."""
        for counts, known in zip(self._counts(), state, strict=True):
            for k, count in enumerate(restored.several(known, restored.size, n)):
                counts[k] = count

    def _counts(self) -> list[Any]:
        return [memoryview(self.all), memoryview(self.recent), memoryview(self.labels)]


def _scalars_of(rule: Any) -> restored.State:
    """Return the state of an expert with its bias, without the columns of its table."""
    state = {"bias": restored.number, **rule.STATE}
    tables = (restored.columns, restored.matrix)
    return {name: state[name] for name in sorted(state) if state[name] not in tables}


def n_ensembles(n_classes: int) -> int:
    """Return the number of ensembles for a number of classes."""
    return n_classes if n_classes > SHARING else min(n_classes, 1)
