"""Hoeffding trees on random features, with random weights of events, regrown after a drift.

`trees.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, Final

from perceptron_core.elementary import exp
from perceptron_core.linear import restored
from perceptron_core.trees import MAX_NODES, N_BINS, N_PARTS, PART_BITS
from perceptron_core.trees.categories import OTHER
from perceptron_core.trees.leaves import Leaves, max_features
from perceptron_core.weights.buffers import doubles, integers
from perceptron_core.weights.example import Example

RATE: Final = 6
"""Mean of the weights that `poisson` draws: online bagging with larger weights, as in leveraging bagging."""
_MAX_POISSON: Final = 24
"""Largest random weight; a larger one would occur once in 10⁸ draws."""

_32_BITS = 0xFFFFFFFF
_FIRST, _SECOND = 0x85EBCA6B, 0xC2B2AE35
"""Factors of MurmurHash3. Literals of more than 31 bits would be Python objects in compiled code."""


_ONE: Final = 1
_ABSENT: Final = N_BINS // 2
"""The bin of a missing number."""


def _bounds() -> array[int]:
    """Return 2³² times the probabilities that a weight is below 1, below 2, and so on."""
    found, term, total = array("Q"), exp(-float(RATE)), 0.0
    for count in range(1, _MAX_POISSON + 1):
        total += term
        term *= RATE / count
        found.append(min(int(total * 4294967296.0), 0xFFFFFFFF))
    return found


_BELOW = _bounds()


def mixed(number: int) -> int:
    """Return 32 bits mixed from 64 bits, by the finalizer of MurmurHash3, applied three times."""
    low, high = number & _32_BITS, number >> 32
    low = (low ^ (low >> 16)) * _FIRST & _32_BITS
    low = ((low ^ (low >> 13)) * _SECOND & _32_BITS) ^ high
    low = (low ^ (low >> 16)) * _FIRST & _32_BITS
    low = (low ^ (low >> 13)) * _SECOND & _32_BITS
    return low ^ (low >> 16)


def poisson(number: int) -> int:
    """Return a sample of the Poisson distribution with mean `RATE`, determined by `mixed` of a number."""
    drawn = mixed(number)
    count = 0
    while count < _MAX_POISSON and drawn >= _BELOW[count]:
        count += 1
    return count


_MIN_REGROW_AGE: Final = 300
"""Smallest age of a tree, in events, at which it can be regrown."""
_SHORT_WINDOW: Final = 100.0
_LONG_WINDOW: Final = 2000.0
"""Numbers of last events whose errors are compared."""
_DRIFT_DEVIATIONS: Final = 4.0
_MAX_AGE: Final = 1 << 30
_share = restored.between(0.0, 1.0)


class Drift:
    """The errors of each tree over the last 100 events and over the last 2,000."""

    def __init__(self, n_trees: int) -> None:
        self.ages = integers(n_trees)
        self.lately, self.errors = doubles(n_trees), doubles(n_trees)

    def restart(self, tree: int) -> None:
        """Reset the errors of a tree."""
        self.ages[tree] = 0
        self.lately[tree] = self.errors[tree] = 0.0

    def count_vote(self, tree: int, is_wrong: bool) -> bool:
        """Count a vote of a tree; return whether its recent error is significantly higher than before."""
        self.ages[tree] = min(self.ages[tree] + 1, _MAX_AGE)
        age = self.ages[tree]
        self.lately[tree] += (is_wrong - self.lately[tree]) / min(age, _SHORT_WINDOW)
        self.errors[tree] += (is_wrong - self.errors[tree]) / min(age, _LONG_WINDOW)
        p = self.errors[tree]
        return age > _MIN_REGROW_AGE and self.lately[tree] - p > _DRIFT_DEVIATIONS * sqrt(
            max(p * (1.0 - p), 0.0) / _SHORT_WINDOW
        )

    def get_state(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "ages": memoryview(self.ages).tolist(),
            "lately": memoryview(self.lately).tolist(),
            "errors": memoryview(self.errors).tolist(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it is invalid."""
        n_trees = len(self.ages)
        ages = restored.several(state["ages"], restored.whole(_MAX_AGE), n_trees)
        lately = restored.several(state["lately"], _share, n_trees)
        errors = restored.several(state["errors"], _share, n_trees)
        for tree in range(n_trees):
            self.ages[tree], self.lately[tree], self.errors[tree] = ages[tree], lately[tree], errors[tree]


_MIN_FEATURES: Final = 12
"""Smallest number of features of a tree, if there are as many."""


class DrawnFeatures:
    """The features of trees, drawn by the seed, the tree and the names of features, in any order.

    Attributes
    ----------
    columns : list
        The positions of the present features.
    features, widths : array
        The features of each tree, in blocks with room for all, and their number.
    generations : array
        How often each tree was started.

    """

    def __init__(self, seed: int, n_trees: int, n_bins: int) -> None:
        self.seed, self.n_trees, self.n_bins = seed, n_trees, n_bins
        self._key = mixed(seed & 0xFFFFFFFFFFFFFFFF)
        self.columns: list[int] = []
        self._hashes = array("Q", bytes(8 * n_bins))
        self._chosen, self._ranks = integers(n_bins), array("Q", bytes(8 * n_bins))
        self.features, self.widths = integers(n_trees * n_bins), integers(n_trees)
        self.generations = integers(n_trees)

    def note(self, columns: list[int], hashes: list[int]) -> None:
        """Set the present features, and the hashes of their names."""
        for k in range(len(columns)):
            self._chosen[k], self._hashes[k] = columns[k], hashes[k]
        self.columns = columns

    def draw(self, tree: int, max_features: int) -> None:
        """Draw at most `max_features` features of a tree, with the lowest ranks."""
        n = len(self.columns)
        seed = self._seed_of(tree)
        width = min(self.width_of(n), max_features)
        for k in range(n):
            rank = mixed(self._hashes[k] ^ (seed << 32))
            j = k
            while j > 0 and self._ranks[j - 1] > rank:
                self._ranks[j] = self._ranks[j - 1]
                if j < width:
                    self.features[tree * self.n_bins + j] = self.features[tree * self.n_bins + j - 1]
                j -= 1
            self._ranks[j] = rank
            if j < width:
                self.features[tree * self.n_bins + j] = self._chosen[k]
        self.widths[tree] = width

    def is_new_name(self, tree: int, name: int) -> bool:
        """Return whether a tree adds a new feature, by the hash of its name.

        The probability is the same as for features that existed when the tree was started.
        """
        n = len(self.columns)
        width = self.width_of(n)
        return mixed(name ^ (self._seed_of(tree) << 32)) * n < width << 32

    def _seed_of(self, tree: int) -> int:
        """Return the seed of the features of a tree."""
        return mixed(self._key ^ (self.generations[tree] * self.n_trees + tree))

    def width_of(self, n: int) -> int:
        """Return the number of features of a tree, given n features: ⌈n/4⌉, but at least 12."""
        return min(n, max((n + 3) // 4, _MIN_FEATURES))


_DEEPEST: Final = 40
_mask = restored.whole((1 << 64) - 1)
_few = restored.whole(1 << 30)
_MAX_WEIGHT: Final = 16.0
"""Largest weight of an example."""


class Trees(DrawnFeatures):
    """Trees on random features, each of which sees an event with a random weight.

    Slot k·n + t is node k of tree t of n. The children of a node are adjacent in their tree.

    An event is given by its positions, in units of 1/`N_PARTS` of a bin. Each tree shifts bins by another
    fraction of a bin, so that together the trees find a threshold within a bin.

    Parameters
    ----------
    seed
        Seed of the random draws.
    n_trees
        Number of trees.
    n_numbers
        Number of positions of numbers, which precede the positions of categories.
    n_bins
        Number of positions of an event.

    Attributes
    ----------
    x : Example
        The nodes that the present event passes.
    forgotten : array
        Whether the last learned event made each tree regrow, so that its slots are other nodes.

    """

    def __init__(self, seed: int, n_trees: int, n_numbers: int, n_bins: int) -> None:
        super().__init__(seed, n_trees, n_bins)
        self.n_numbers = n_numbers
        self.x = Example(n_trees * (_DEEPEST + 1))
        self.x.version = 0
        for k in range(self.x.capacity):
            self.x.values[k] = 1.0
        self.leaves = Leaves()
        self._next: Leaves | None = None
        """The leaves of trees that are regrown because the old leaves had no room for a new class."""
        self.n_events = self.n_regrown = self.n_slots = 0
        self._shifts = integers(n_trees)
        for tree in range(n_trees):
            self._shifts[tree] = N_PARTS * tree // n_trees
        self.n_nodes, self.drift = integers(n_trees), Drift(n_trees)
        n = n_trees * MAX_NODES
        self.tests, self.masks = integers(n), array("Q", bytes(8 * n))
        """The bin that a node tests, −1 for a leaf; the values that go to the first child."""
        self.children, self.depths, self.blocks, self.votes = (integers(n) for _ in range(4))
        self._ends, self.forgotten = integers(n_trees), integers(n_trees)

    def arrange(self, columns: list[int], hashes: list[int], n_classes: int) -> None:
        """Adapt to the present bins, the hashes that determine their draws, and the number of classes.

        Trees without a split draw their features again. Other trees add new ones.
        """
        former, is_new = self.columns, columns != self.columns
        n_classes = max(n_classes, self.leaves.n_classes, 2)
        n_features = min(self.width_of(len(columns)), max_features(n_classes))
        if self.leaves.has_room(n_features, n_classes):
            self._reserve_cells(max(n_features, self.leaves.n_features), n_classes)
        self.leaves.reserve(2 * self.n_trees)
        self.note(columns, hashes)
        for tree in range(self.n_trees):
            if self.n_nodes[tree] == 0 or (is_new and self.n_nodes[tree] == 1):
                self.regrow(tree)
        self._count_slots()
        for k in range(len(columns)):
            if columns[k] not in former:
                self._join(columns[k], hashes[k], n_classes)

    def _join(self, feature: int, name: int, n_classes: int) -> None:
        """Add a feature to trees with splits, by its bin and the hash of its name.

        A tree adds it with the same probability as if it was started with all features. Its leaves count
        earlier events as events without the feature.
        """
        for tree in range(self.n_trees):
            if self.n_nodes[tree] > 1 and self.is_new_name(tree, name):
                self._take(tree, feature, n_classes)

    def _take(self, tree: int, feature: int, n_classes: int) -> None:
        """Add a feature to the features of a tree, if there is room."""
        f = self._find_feature(tree, feature)
        if f == self.leaves.n_features:
            if f == max_features(n_classes) or not self.leaves.has_room(f + 1, n_classes):
                return
            self._reserve_cells(f + 1, n_classes)
        if f == self.widths[tree]:
            self.features[tree * self.n_bins + f] = feature
            self.widths[tree] += 1
        for node in range(tree, self.n_nodes[tree] * self.n_trees, self.n_trees):
            if self.tests[node] < 0:
                self.leaves.restart(self.blocks[node], f, _ABSENT if feature < self.n_numbers else 0)

    def forget(self, feature: int, code: int) -> None:
        """Move the counts of a category's value to the values without a code."""
        for tree in range(self.n_trees):
            f = self._find_feature(tree, feature)
            for node in range(tree, self.n_nodes[tree] * self.n_trees, self.n_trees):
                if self.tests[node] == feature:
                    bit = self.masks[node] >> OTHER & 1
                    self.masks[node] = self.masks[node] & ~(_ONE << code) | bit << code
                elif self.tests[node] < 0 and f < self.widths[tree]:
                    self.leaves.merge(self.blocks[node], f, code, OTHER)

    def _find_feature(self, tree: int, feature: int) -> int:
        """Return the position of a feature in a tree; the number of the tree's features if it is missing."""
        f = 0
        while f < self.widths[tree] and self.features[tree * self.n_bins + f] != feature:
            f += 1
        return f

    def set_event(self, places: array[int]) -> None:
        """Set `x` to an event."""
        self.x.n, n_trees = 0, self.n_trees
        for tree in range(n_trees):
            node = tree
            shift = self._shifts[tree]
            self.x.slots[self.x.n] = node
            self.x.n += 1
            while self.tests[node] >= 0:
                mask = self.masks[node]
                at = (places[self.tests[node]] + shift) >> PART_BITS
                node = self.children[node] + (0 if (mask >> at) & 1 else n_trees)
                self.x.slots[self.x.n] = node
                self.x.n += 1
            self._ends[tree] = node

    def reserve(self, n_classes: int) -> None:
        """Allocate memory for learning an event with this number of classes."""
        n_features, n_classes = self.leaves.n_features, max(n_classes, self.leaves.n_classes, 2)
        self._next = None
        if self.leaves.has_room(n_features, n_classes):
            self._reserve_cells(n_features, n_classes)
            self.leaves.reserve(2 * self.n_trees)
            return
        while n_features > max_features(n_classes):
            n_features //= 2
        self._next = Leaves(n_features, n_classes)
        self._next.reserve(2 * self.n_trees)

    def _reserve_cells(self, n_features: int, n_classes: int) -> None:
        """Make room for this number of features and classes in each leaf."""
        if n_features == self.leaves.n_features and n_classes == self.leaves.n_classes:
            return
        self.leaves = self.leaves.resized(self._blocks_in_use(), n_features, n_classes)
        for block, node in enumerate([node for node in self._nodes_in_use() if self.tests[node] < 0]):
            self.blocks[node] = block

    def _blocks_in_use(self) -> list[int]:
        """Return the blocks of the leaves, tree by tree."""
        return [self.blocks[node] for node in self._nodes_in_use() if self.tests[node] < 0]

    def _nodes_in_use(self) -> list[int]:
        """Return the nodes, tree by tree."""
        return [k * self.n_trees + tree for tree in range(self.n_trees) for k in range(self.n_nodes[tree])]

    def _restart(self, leaves: Leaves) -> None:
        """Regrow all trees with these leaves, which have room for another class."""
        self.leaves, self._next = leaves, None
        for tree in range(self.n_trees):
            self.n_nodes[tree] = 0
            self._ends[tree] = tree
            self.regrow(tree)

    def learn(self, places: array[int], label: int, n_classes: int, w: float) -> None:
        """Learn the present event, with its class and weight w."""
        self.n_events += 1
        weight = min(w, _MAX_WEIGHT)
        is_restarted = self._next is not None
        if self._next is not None:
            self._restart(self._next)
        for tree in range(self.n_trees):
            node = self._ends[tree]
            self.forgotten[tree] = is_restarted
            if self.drift.count_vote(tree, self.votes[node] != label):
                self.regrow(tree)
                self.forgotten[tree] = 1
                self.n_regrown += 1
                node = tree
            draw = self._key ^ (self.n_events * self.n_trees + tree)
            count = int(poisson(draw) * weight + 0.5)
            block = self.blocks[node]
            if count > 0 and block >= 0:
                first, shift, n = tree * self.n_bins, self._shifts[tree], self.widths[tree]
                self.leaves.add(block, self.features, first, n, places, shift, label, count)
                self.votes[node] = self._most_frequent(block, False, False)  # noqa: FBT003  C
                if self.leaves.is_due(block):
                    self._split(tree, node, n_classes)
        self._count_slots()

    def regrow(self, tree: int) -> None:
        """Restart a tree, on other features."""
        for k in range(self.n_nodes[tree]):
            node = k * self.n_trees + tree
            if self.tests[node] < 0 and self.blocks[node] >= 0:
                self.leaves.free_block(self.blocks[node])
        self.n_nodes[tree] = 1
        self.tests[tree], self.masks[tree], self.children[tree], self.depths[tree] = -1, 0, 0, 0
        self.votes[tree] = 0
        self.blocks[tree] = self.leaves.take_block()
        self.generations[tree] += 1
        self.drift.restart(tree)
        self.draw(tree, self.leaves.n_features)

    def _split(self, tree: int, node: int, n_classes: int) -> None:
        """Split a leaf, if its counts justify that and there is room."""
        block, first = self.blocks[node], tree * self.n_bins
        is_full = self.n_nodes[tree] + 2 > MAX_NODES or self.depths[node] >= _DEEPEST
        if is_full or self.leaves.is_full:
            self.leaves.checked[block] = self.leaves.seen[block]
            return
        if not self.leaves.split(block, self.features, first, self.widths[tree], self.n_numbers, n_classes):
            return
        child = self.n_nodes[tree] * self.n_trees + tree
        self.n_nodes[tree] += 2
        self.tests[node] = self.features[first + self.leaves.feature]
        self.masks[node] = self.leaves.mask
        self.children[node] = child
        for other in (child, child + self.n_trees):
            self.tests[other], self.masks[other], self.children[other] = -1, 0, 0
            self.depths[other] = self.depths[node] + 1
            self.votes[other] = self._most_frequent(block, other == child, other > child)
        self.leaves.clear(block)
        self.blocks[node] = -1
        self.blocks[child] = block
        self.blocks[child + self.n_trees] = self.leaves.take_block()

    def _most_frequent(self, block: int, is_left: bool, is_right: bool) -> int:
        """Return the most frequent class of a block, or of one side of a split."""
        best = most = 0
        for c in range(self.leaves.n_classes):
            count = self.leaves.totals[block * self.leaves.n_classes + c]
            if is_left:
                count = self.leaves.left[c]
            elif is_right:
                count -= self.leaves.left[c]
            if count > most:
                best, most = c, count
        return best

    def tested(self) -> list[int]:
        """Return the bin that the parent of each node of `x` tests, −1 for a root."""
        found = []
        for k in range(self.x.n):
            is_root = self.x.slots[k] < self.n_trees
            found.append(-1 if is_root else self.tests[self.x.slots[k - 1]])
        return found

    def _count_slots(self) -> None:
        """Count the slots up to the last one in use."""
        self.n_slots = 0
        for tree in range(self.n_trees):
            self.n_slots = max(self.n_slots, self.n_nodes[tree] * self.n_trees)

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        nodes = self._nodes_in_use()
        features = [
            [self.features[tree * self.n_bins + k] for k in range(self.widths[tree])]
            for tree in range(self.n_trees)
        ]
        return {
            "n_events": self.n_events,
            "features": features,
            "n_nodes": memoryview(self.n_nodes).tolist(),
            "generations": memoryview(self.generations).tolist(),
            "drift": self.drift.get_state(),
            "tests": [self.tests[node] + 1 for node in nodes],
            "masks": [self.masks[node] for node in nodes],
            "children": [self.children[node] // self.n_trees for node in nodes],
            "votes": [self.votes[node] for node in nodes],
            "leaves": self.leaves.get_state(self._blocks_in_use()),
        }

    def set_state(self, state: Mapping[str, Any], columns: list[int], hashes: list[int]) -> None:
        """Set a state from `get_state`, for these features. Raises `ValueError` if it is invalid."""
        self.__init__(self.seed, self.n_trees, self.n_numbers, self.n_bins)  # type: ignore[misc]
        self.n_events = restored.count(state["n_events"])
        self.note(columns, hashes)
        features = restored.several(state["features"], tuple, self.n_trees)
        n_nodes = restored.several(state["n_nodes"], restored.whole(MAX_NODES), self.n_trees)
        generations = restored.several(state["generations"], _few, self.n_trees)
        self.drift.set_state(state["drift"])
        self.leaves.set_state(state["leaves"], sum((n + 1) // 2 for n in n_nodes), self.n_bins)
        for tree in range(self.n_trees):
            self.n_nodes[tree], self.generations[tree] = n_nodes[tree], generations[tree]
            self._set_features(tree, features[tree])
        self._set_nodes(state)
        self._count_slots()

    def _set_features(self, tree: int, features: Sequence[Any]) -> None:
        if len(features) > self.leaves.n_features:
            raise ValueError(f"{len(features)} features of a tree with counts of {self.leaves.n_features}")
        self.widths[tree] = len(features)
        for k, feature in enumerate(
            restored.several(features, restored.whole(self.n_bins - 1), len(features))
        ):
            self.features[tree * self.n_bins + k] = feature

    def _set_nodes(self, state: Mapping[str, Any]) -> None:
        """Set the nodes, tree by tree; a child comes after its only parent."""
        n, n_classes = sum(self.n_nodes), self.leaves.n_classes
        tests = restored.several(state["tests"], restored.whole(self.n_bins), n)
        masks = restored.several(state["masks"], _mask, n)
        children = restored.several(state["children"], restored.whole(MAX_NODES), n)
        votes = restored.several(state["votes"], restored.whole(max(n_classes - 1, 0)), n)
        at = block = 0
        for tree in range(self.n_trees):
            free = {*range(1, self.n_nodes[tree], 2)}
            for k in range(self.n_nodes[tree]):
                node, child = k * self.n_trees + tree, children[at]
                self.tests[node], self.masks[node], self.votes[node] = tests[at] - 1, masks[at], votes[at]
                if tests[at]:
                    if child not in free or child <= k or self.depths[node] >= _DEEPEST:
                        raise ValueError(f"node {k} has the children {child} and {child + 1}")
                    free.remove(child)
                    for other in (child, child + 1):
                        self.depths[other * self.n_trees + tree] = self.depths[node] + 1
                    self.children[node], self.blocks[node] = child * self.n_trees + tree, -1
                else:
                    self.children[node], self.blocks[node] = 0, block
                    block += 1
                at += 1
            if free or self.n_nodes[tree] % 2 == 0:
                raise ValueError(f"{self.n_nodes[tree]} nodes, of which {sorted(free)!r:.100} have no parent")
