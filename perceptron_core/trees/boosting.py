# cython: infer_types=True
"""Gradient-boosted trees on binned events, grown leaf by leaf from integer histograms.

`boosting.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import inf
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.elementary import exp
from perceptron_core.linear import restored
from perceptron_core.trees import N_BINS
from perceptron_core.trees.trees import mixed
from perceptron_core.weights.buffers import doubles, integers

MAX_LEAVES: Final = 32
N_NODES: Final = 2 * MAX_LEAVES - 1
"""Largest number of nodes of a tree."""
_MIN_IN_LEAF: Final = 3
_MIN_IN_SPLIT: Final = 20
"""Smallest number of events of a leaf, and of a node that is split."""
_N_TREES: Final = 40
"""Number of trees of two classes. Of three or more, it is 80 minus their number, at least 40."""
_SUM_OF_RATES: Final = 8.0
"""The learning rate times the number of trees of two classes. Of three or more, it is twice as much."""
_LAMBDA: Final = 1.0
_MAX_NODE_VALUE: Final = 4.0
"""Largest absolute value of a node."""
_SMOOTHING: Final = 2.5
"""Added to the second derivatives when the values of a category are sorted."""
_NARROW: Final = 16
_CHOSEN: Final = 26
"""Of 26 columns and more, a tree may use half; of 17 to 25, about 13; of fewer, all."""
MAX_SORTED: Final = 1000
"""Largest number of values from which the edges of a column's bins are found."""

_GRADIENT: Final = 1 << 36
_HESSIAN: Final = 1 << 14
_HESSIANS: Final = (1 << 22) - 1
_COUNTS: Final = _HESSIAN - 1
"""A sum over events is one integer: Σg in 28 bits, Σh in 22, the number of events in 14."""
_G_UNITS: Final = 8192.0
_H_UNITS: Final = 1024.0
"""Integers of a gradient and of a second derivative 1, of an event of the largest weight."""
_ONE: Final = 1
_BITS: Final = 10
_BIN: Final = (1 << _BITS) - 1
"""A node and a bin share one integer: the bin in 10 bits."""

_link = restored.whole(N_NODES << _BITS)
_mask = restored.whole((1 << 64) - 1)
_limit = restored.between(-inf, 1e39)
_value = restored.between(-_MAX_NODE_VALUE, _MAX_NODE_VALUE)
_base = restored.between(-100.0, 100.0)


def number_of_trees(n_outputs: int) -> int:
    """Return how many trees are grown for outputs: one for two classes, else one for each class."""
    return _N_TREES if n_outputs == 1 else max(_N_TREES, 2 * _N_TREES - n_outputs)


class TreeNodes:
    """Trees whose leaves add to each output.

    Node k of tree t is at t·`N_NODES` + k. Bins from `n_numbers` on are categories.
    """

    def __init__(self, max_trees: int, n_outputs: int, n_numbers: int) -> None:
        n = 2 * max_trees * N_NODES  # with those of `average`
        self.n_trees, self.n_outputs, self.n_numbers = 0, n_outputs, n_numbers
        self.bases = doubles(n_outputs)
        self.links, self.masks = integers(n), array("Q", bytes(8 * n))
        """First child of a node in the same tree, times 1,024, plus the bin that it tests; 0 for a leaf."""
        self.limits, self.values = doubles(n), doubles(n * n_outputs)
        """The largest number that goes to the first child; what a leaf adds to each output."""
        self._found, self._unfinished = integers(2 * max_trees), integers(2 * max_trees)
        """Node of each tree; trees whose leaf is to be found."""

    def next_of(self, first: int, node: int, value: float) -> int:
        """Return the child of an inner node, of the tree whose root is `first`, for a value of its bin."""
        link = self.links[node]
        is_left = int(value <= self.limits[node])
        if (link & _BIN) >= self.n_numbers:
            code = int(value)
            is_left = (self.masks[node] >> code) & 1
        return first + (link >> _BITS) + 1 - is_left

    def compute(self, outputs: array[float], row: array[float]) -> None:
        """Compute the outputs for these values by bin."""
        self._find_leaves(row)
        n = self.n_outputs
        for k in range(n):
            outputs[k] = self.bases[k]
        for tree in range(self.n_trees):
            first = self._found[tree] * n
            for k in range(n):
                outputs[k] += self.values[first + k]

    def _find_leaves(self, row: array[float]) -> None:
        """Find the leaf of each tree. All trees take a step in turn: the processor need not wait for each."""
        n = 0
        for tree in range(self.n_trees):
            self._found[tree] = tree * N_NODES
            self._unfinished[n] = tree
            n += self.links[tree * N_NODES] != 0
        while n > 0:
            n_before, n = n, 0
            for k in range(n_before):
                tree = self._unfinished[k]
                node = self._found[tree]
                node = self.next_of(tree * N_NODES, node, row[self.links[node] & _BIN])
                self._found[tree] = node
                self._unfinished[n] = tree
                n += self.links[node] != 0

    def contributions(self, output: int, row: array[float]) -> dict[int, float]:
        """Return what each tested bin adds to an output: the differences of the nodes on the paths."""
        found: dict[int, float] = {}
        for tree in range(self.n_trees):
            first = node = tree * N_NODES
            while self.links[node]:
                number, before = self.links[node] & _BIN, self.values[node * self.n_outputs + output]
                node = self.next_of(first, node, row[number])
                added = self.values[node * self.n_outputs + output] - before
                found[number] = found.get(number, 0.0) + added
        return found

    def average(self, former: TreeNodes) -> None:
        """Average these trees with as many of the newest former trees, which may be averages themselves."""
        n, n_former = self.n_trees * N_NODES, min(former.n_trees, self.n_trees) * N_NODES
        share = 0.5 if former.n_trees <= self.n_trees else 1.0
        for k in range(n_former):
            self.links[n + k], self.masks[n + k] = former.links[k], former.masks[k]
            self.limits[n + k] = former.limits[k]
        for k in range(n * self.n_outputs):
            self.values[k] *= 0.5
        for k in range(n_former * self.n_outputs):
            self.values[n * self.n_outputs + k] = share * former.values[k]
        for k in range(self.n_outputs):
            self.bases[k] = 0.5 * (self.bases[k] + former.bases[k])
        self.n_trees += n_former // N_NODES

    def get_state(self) -> dict[str, Any]:
        """Return the trees as plain values."""
        found: dict[str, Any] = {"bases": memoryview(self.bases).tolist()}
        n = self.n_trees * N_NODES
        for name in ("links", "masks", "limits"):
            found[name] = memoryview(getattr(self, name))[:n].tolist()
        return {**found, "values": memoryview(self.values)[: n * self.n_outputs].tolist()}

    def set_state(self, state: Mapping[str, Any], n_bins: int) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it is invalid."""
        n = len(state["links"])
        if n % N_NODES or 2 * n > len(self.links):
            raise ValueError(f"{n} nodes of boosted trees, at most {len(self.links) // 2}")
        bases = restored.several(state["bases"], _base, self.n_outputs)
        for k in range(self.n_outputs):
            self.bases[k] = bases[k]
        links, masks = restored.several(state["links"], _link, n), restored.several(state["masks"], _mask, n)
        limits = restored.several(state["limits"], _limit, n)
        for k, value in enumerate(restored.several(state["values"], _value, n * self.n_outputs)):
            self.values[k] = value
        for node in range(n):
            child, number = links[node] >> _BITS, links[node] & _BIN
            if links[node] and (not node % N_NODES < child < N_NODES - 1 or number >= n_bins):
                raise ValueError(f"node {node} of boosted trees tests bin {number} and has the child {child}")
            self.links[node], self.masks[node], self.limits[node] = links[node], masks[node], limits[node]
        self.n_trees = n // N_NODES


class Grower:
    """The binned events of a refit, and what grows a tree on them.

    Gradients are rounded to integers, so that sums depend neither on their order nor on the machine.

    Parameters
    ----------
    n
        Number of events, at most 16,000.
    bins, names
        The position of each column in an event, and the hash of its name.
    n_numbers
        Number of bins that are numbers.
    n_outputs
        Number of outputs of the trees.

    Attributes
    ----------
    values : array
        Values of a column, for `find_edges`.

    """

    def __init__(self, n: int, bins: list[int], names: list[int], n_numbers: int, n_outputs: int) -> None:
        self.n, self.width, self.n_numbers = n, len(bins), n_numbers
        self.bins, self._names = array("i", bins), array("Q", names)
        self.codes, self.edges = bytearray(n * self.width), doubles(self.width * N_BINS)
        """Bin of each event in each column, event by event, and the upper edges of the bins."""
        self._n_codes, self._chosen, self._n_chosen = integers(self.width), integers(self.width), 0
        self.packed, self._order, self._other = array("q", bytes(8 * n)), integers(n), integers(n)
        """Gradient, second derivative and count of each event; the events, leaf by leaf."""
        self._sums = array("q", bytes(8 * MAX_LEAVES * self.width * N_BINS))
        self._starts, self._ends, self._nodes = (integers(MAX_LEAVES) for _ in range(3))
        self._columns, self._splits, self._n_leaves = integers(MAX_LEAVES), integers(MAX_LEAVES), 0
        self._masks, self._totals = array("Q", bytes(8 * MAX_LEAVES)), array("q", bytes(8 * MAX_LEAVES))
        self._gains, self.values = doubles(MAX_LEAVES), doubles(MAX_SORTED)
        self._ranks, self._ranked, self.unit = doubles(N_BINS), integers(N_BINS), 1.0
        self._lefts, self._scores = array("q", bytes(8 * N_BINS)), doubles(N_BINS)
        """Of the splits of a column: the sums of the first child, and Σ g²/(h + λ) of both children."""
        self._gradients, self._hessians = doubles(N_NODES * n_outputs), doubles(N_NODES * n_outputs)
        self._rate = _SUM_OF_RATES * min(n_outputs, 2) / number_of_trees(n_outputs)
        self._factors, self._members = doubles(n_outputs), integers(n_outputs)
        """Sums by node and output; what multiplies predictions in a leaf; classes of a group."""

    def find_edges(self, column: int, n: int) -> None:
        """Find the edges of a column's bins, at quantiles of the first n `values`."""
        self._sort(n)
        first, n_edges, at, n_codes = column * N_BINS, 0, 0, min(N_BINS, n // 8 + 8)
        while at < n and n_edges < n_codes - 1:
            last = at + (n - at - 1) // (n_codes - n_edges)
            while last + 1 < n and self.values[last + 1] == self.values[last]:
                last += 1
            if last + 1 < n:
                self.edges[first + n_edges] = 0.5 * (self.values[last] + self.values[last + 1])
                n_edges += 1
            at = last + 1
        for k in range(n_edges, N_BINS):
            self.edges[first + k] = inf
        self._n_codes[column] = N_BINS if self.bins[column] >= self.n_numbers else n_edges + 1

    def _sort(self, n: int) -> None:
        """Sort the first n values, by Shell's method."""
        gap = 364
        while gap > 0:
            for k in range(gap, n):
                value, j = self.values[k], k
                while j >= gap and self.values[j - gap] > value:
                    self.values[j] = self.values[j - gap]
                    j -= gap
                self.values[j] = value
            gap //= 3

    def code(self, column: int, event: int, value: float) -> None:
        """Set the bin of an event in a column."""
        first = column * N_BINS
        code, step = 0, N_BINS >> 1 if value > self.edges[first] else 0
        while step > 0:
            code += step * (self.edges[first + code + step - 1] < value)
            step >>= 1
        if self.bins[column] >= self.n_numbers:
            code = int(value)
        self.codes[event * self.width + column] = code

    def set_gradients(
        self, predictions: array[float], labels: array[int], weights: array[float], group: int
    ) -> None:
        """Set the derivatives of the loss of separating a group of classes, one bit each, from the others."""
        n, n_members = len(self._factors), 0
        for k in range(n):
            self._members[n_members] = k
            n_members += (group >> k) & 1
        for event in range(self.n):
            p = 0.0
            for k in range(n_members):
                p += predictions[event * n + self._members[k]]
            if n == 1:
                p = predictions[event] / (1.0 + predictions[event])
            w = min(weights[event] / self.unit, 1.0)
            p = min(p, 1.0) - ((group >> labels[event]) & 1)
            g, h = int(w * p * _G_UNITS + 32768.5), int(w * abs(p) * (1.0 - abs(p)) * _H_UNITS + 0.5)
            self.packed[event] = (g - 32768) * _GRADIENT + h * _HESSIAN + 1

    def grow(self, nodes: TreeNodes, seed: int) -> None:
        """Add a tree."""
        self._choose(seed)
        first, n_nodes = nodes.n_trees * N_NODES, 1
        self._totals[0] = 0
        for event in range(self.n):
            self._order[event] = event
            self._totals[0] += self.packed[event]
        self._starts[0], self._ends[0], self._nodes[0], self._n_leaves = 0, self.n, first, 1
        self._add_up(0)
        self._search(0)
        while self._n_leaves < MAX_LEAVES:
            best = 0
            for leaf in range(1, self._n_leaves):
                if self._gains[leaf] > self._gains[best]:
                    best = leaf
            if self._gains[best] <= 0.0:
                break
            self._split(best, nodes, n_nodes)
            n_nodes += 2
        nodes.n_trees += 1

    def fit(
        self, nodes: TreeNodes, predictions: array[float], labels: array[int], weights: array[float]
    ) -> None:
        """Set what the last tree's nodes add to each output, by Newton steps."""
        n, first = nodes.n_outputs, (nodes.n_trees - 1) * N_NODES
        for k in range(N_NODES * n):
            self._gradients[k] = self._hessians[k] = 0.0
        for leaf in range(self._n_leaves):
            at = (self._nodes[leaf] - first) * n
            for j in range(self._starts[leaf], self._ends[leaf]):
                event = self._order[j]
                w, label = min(weights[event], self.unit), labels[event]
                for k in range(n):
                    p = predictions[event * n + k]
                    p = p / (1.0 + p) if n == 1 else p
                    self._gradients[at + k] += w * p
                    self._hessians[at + k] += w * p * (1.0 - p)
                # With two classes, the output is that of class 1. A class added during the refit has none.
                if label < max(n, 2) and label + n > 1:
                    self._gradients[at + label % n] -= w
        for node in range(2 * self._n_leaves - 2, -1, -1):
            child = (nodes.links[first + node] >> _BITS) * n
            for k in range(node * n, node * n + n):
                if child:
                    self._gradients[k] = self._gradients[child] + self._gradients[child + n]
                    self._hessians[k] = self._hessians[child] + self._hessians[child + n]
                    child += 1
                value = -self._rate * self._gradients[k] / (self._hessians[k] + _LAMBDA)
                nodes.values[first * n + k] = max(-_MAX_NODE_VALUE, min(value, _MAX_NODE_VALUE))

    def update(self, nodes: TreeNodes, predictions: array[float]) -> None:
        """Update the events' odds, or probabilities of several classes, by the last tree."""
        n = nodes.n_outputs
        for leaf in range(self._n_leaves):
            first = self._nodes[leaf] * n
            for k in range(n):
                self._factors[k] = exp(nodes.values[first + k])
            for j in range(self._starts[leaf], self._ends[leaf]):
                at, total = self._order[j] * n, 1e-300
                for k in range(n):
                    predictions[at + k] *= self._factors[k]
                    total += predictions[at + k]
                for k in range(n if n > 1 else 0):
                    predictions[at + k] *= 1.0 / total

    def _choose(self, seed: int) -> None:
        """Draw the columns of a tree."""
        self._chosen[0], self._n_chosen = seed % self.width, 0
        drawn, limit = _ONE * self.width, _ONE * max(self.width, _CHOSEN) << 31
        for column in range(self.width):
            if self.width <= _NARROW or mixed(self._names[column] ^ (seed << 32)) * drawn < limit:
                self._chosen[self._n_chosen] = column
                self._n_chosen += 1
        self._n_chosen = max(self._n_chosen, 1)

    def _add_up(self, leaf: int) -> None:
        """Compute the sums of a leaf's events by column and bin."""
        first, n = leaf * self.width * N_BINS, self._n_chosen
        for k in range(n * N_BINS):
            self._sums[first + k] = 0
        for k in range(self._starts[leaf], self._ends[leaf]):
            at, packed = self._order[k] * self.width, self.packed[self._order[k]]
            for f in range(n):
                self._sums[first + f * N_BINS + self.codes[at + self._chosen[f]]] += packed

    def _split(self, leaf: int, nodes: TreeNodes, n_nodes: int) -> None:
        """Split a leaf; the child with fewer events is the new leaf, whose sums are counted."""
        node, other, column = self._nodes[leaf], self._n_leaves, self._columns[leaf]
        split, mask, is_number = self._splits[leaf], self._masks[leaf], self._masks[leaf] == 0
        nodes.links[node], nodes.masks[node] = (n_nodes << _BITS) + self.bins[column], mask
        nodes.limits[node] = self.edges[column * N_BINS + split] if is_number else 0.0
        start, end = self._starts[leaf], self._ends[leaf]
        at, n_right, total = start, 0, self._totals[leaf]
        for k in range(start, end):
            event = self._order[k]
            code = self.codes[event * self.width + column]
            is_left = code <= split if is_number else (mask >> code) & 1  # no branch, as none is predictable
            self._order[at] = self._other[n_right] = event
            total -= is_left * self.packed[event]
            at += is_left
            n_right += 1 - is_left
        for k in range(n_right):
            self._order[at + k] = self._other[k]
        is_left = n_right <= at - start  # whether the leaf becomes the first child
        child = node - node % N_NODES + n_nodes
        self._totals[other] = total if is_left else self._totals[leaf] - total
        self._totals[leaf] -= self._totals[other]
        self._nodes[leaf], self._nodes[other] = child + 1 - is_left, child + is_left
        self._starts[other], self._ends[other] = at if is_left else start, end if is_left else at
        self._starts[leaf], self._ends[leaf] = start if is_left else at, at if is_left else end
        self._n_leaves += 1
        if self._n_leaves < MAX_LEAVES:
            self._add_up(other)
            first, second = leaf * self.width * N_BINS, other * self.width * N_BINS
            for k in range(self._n_chosen * N_BINS):
                self._sums[first + k] -= self._sums[second + k]
            self._search(leaf)
            self._search(other)

    def _search(self, leaf: int) -> None:
        """Find the best split of a leaf; its gain is 0 if there is none."""
        total, ridge = self._totals[leaf], _LAMBDA * _H_UNITS / self.unit
        n, g, h = total & _COUNTS, float(total >> 36), float((total >> 14) & _HESSIANS)
        best = before = g * g / (h + ridge)
        for f in range(self._n_chosen if n >= _MIN_IN_SPLIT else 0):
            column, first = self._chosen[f], (leaf * self.width + f) * N_BINS
            is_category = self.bins[column] >= self.n_numbers
            if n - (self._sums[first] & _COUNTS) < _MIN_IN_LEAF:
                continue
            n_splits = self._list(first, self._n_codes[column], is_category) - 1
            memory.score_splits(self._scores, self._lefts, n_splits, total, ridge)
            for k in range(n_splits):
                if self._scores[k] > best and _MIN_IN_LEAF <= (self._lefts[k] & _COUNTS) <= n - _MIN_IN_LEAF:
                    best = self._scores[k]
                    self._columns[leaf], self._splits[leaf], self._masks[leaf] = column, self._ranked[k], 0
                    for j in range(k + 1 if is_category else 0):
                        self._masks[leaf] |= _ONE << self._ranked[j]
        self._gains[leaf] = best - before

    def _list(self, first: int, n_codes: int, is_category: bool) -> int:
        """List the codes that occur, those of a category by their prediction, and the sums up to each.

        Returns how many there are.
        """
        n, left, smoothing = 0, 0, _SMOOTHING * _H_UNITS / self.unit
        for code in range(n_codes):
            total = self._sums[first + code]
            left += total
            self._ranked[n], self._lefts[n] = code, left
            n += total != 0  # no branch, as none is predictable
        for j in range(n if is_category else 0):
            code, k = self._ranked[j], j
            total = self._sums[first + code]
            rank = float(total >> 36) / (float((total >> 14) & _HESSIANS) + smoothing)
            while k > 0 and self._ranks[k - 1] > rank:
                self._ranks[k], self._ranked[k] = self._ranks[k - 1], self._ranked[k - 1]
                k -= 1
            self._ranks[k], self._ranked[k] = rank, code
        left = 0
        for k in range(n if is_category else 0):
            left += self._sums[first + self._ranked[k]]
            self._lefts[k] = left
        return n
