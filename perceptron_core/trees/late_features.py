"""Let trees that have split take features that join, and values that take the code of others.

`late_features.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Final

from perceptron_core.trees.categories import OTHER
from perceptron_core.trees.leaves import most_features
from perceptron_core.trees.sizes import N_BINS
from perceptron_core.trees.trees import Trees

_ONE: Final = 1
_ABSENT: Final = N_BINS // 2
"""The bin of a number that an event lacks."""


def arrange(trees: Trees, bins: list[int], names: list[int], n_classes: int) -> None:
    """Take in which features there are, by their bins and the hashes of their names; trees take new ones."""
    former = trees.columns
    trees.arrange(bins, names, n_classes)
    for k in range(len(bins)):
        if bins[k] not in former:
            _join(trees, bins[k], names[k], n_classes)


def _join(trees: Trees, feature: int, name: int, n_classes: int) -> None:
    """Let trees that have split take a feature, by its bin and the hash of its name.

    Each takes it with the same probability as if it began with all features. Its leaves count the events
    before as events without the feature.
    """
    for tree in range(trees.n_trees):
        if trees.n_nodes[tree] > 1 and trees.joins(tree, name):
            _take(trees, tree, feature, n_classes)


def _take(trees: Trees, tree: int, feature: int, n_classes: int) -> None:
    """Add a feature to those of a tree, if there is room."""
    f, n_classes = _place_of(trees, tree, feature), max(n_classes, trees.leaves.n_classes, 2)
    if f == trees.leaves.n_features:
        if f == most_features(n_classes) or not trees.leaves.has_room(f + 1, n_classes):
            return
        trees.widen(f + 1, n_classes)
    if f == trees.widths[tree]:
        trees.features[tree * trees.n_bins + f] = feature
        trees.widths[tree] += 1
    for node in range(tree, trees.n_nodes[tree] * trees.n_trees, trees.n_trees):
        if trees.tests[node] < 0:
            trees.leaves.restart(trees.blocks[node], f, _ABSENT if feature < trees.n_numbers else 0)


def forget(trees: Trees, feature: int, code: int) -> None:
    """Let what was learned of a value of a category be what is known of values without a code."""
    for tree in range(trees.n_trees):
        f = _place_of(trees, tree, feature)
        for node in range(tree, trees.n_nodes[tree] * trees.n_trees, trees.n_trees):
            if trees.tests[node] == feature:
                bit = trees.masks[node] >> OTHER & 1
                trees.masks[node] = trees.masks[node] & ~(_ONE << code) | bit << code
            elif trees.tests[node] < 0 and f < trees.widths[tree]:
                trees.leaves.merge(trees.blocks[node], f, code, OTHER)


def _place_of(trees: Trees, tree: int, feature: int) -> int:
    """Return which feature of a tree one is; as many as it has, if it is none of them."""
    f = 0
    while f < trees.widths[tree] and trees.features[tree * trees.n_bins + f] != feature:
        f += 1
    return f
