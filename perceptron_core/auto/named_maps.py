"""Name what the maps of an event show, for explanations, and write and read what they learned.

`named_maps.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perceptron_core.auto.explanation import (
    CHARACTERS_OF_TEXT,
    MOST_NAMED,
    NEAREST,
    TREES,
    names_of_columns,
    names_of_entries,
    words_and_pairs,
)
from perceptron_core.auto.feature_maps import FeatureMaps
from perceptron_core.auto.layout import CHARACTERS, FOREST, GRAMS, MOST_CHARACTERS, NEIGHBORS, PAIRED, WORDS
from perceptron_core.validation import is_boolean, named_values


class NamedMaps(FeatureMaps):
    """The maps, which can say which feature each of their entries is of, and what they learned."""

    def names(self, x: Any) -> list[list[str]]:
        """Return the names of the entries of each map for the event shown, which is `x`."""
        words: dict[int, str] = {}
        grams: dict[int, str] = {}
        n_words = n_grams = MOST_NAMED
        for name, value in named_values(x):
            if isinstance(value, str):
                ngrams = words_and_pairs(value)[:n_words] if n_words else []
                n_words -= len(ngrams)
                words.update(self._words_by_index(name, ngrams))
                cut = value[: min(MOST_CHARACTERS, n_grams)]
                n_grams -= len(cut)
                grams.update(self._grams_by_index(name, cut))
                words.setdefault(self.words.place(self._hash(f"{name}={value}")), f"{name}={value}")
            elif is_boolean(value):
                words[self.words.place(self._hash(f"{name}={bool(value)}"))] = f"{name}={bool(value)}"
            else:
                words[self.words.place(self._hash(f"{name}"))] = f"{name}"
        columns = self.columns
        here = [number for number in range(columns.n) if columns.present[number]]
        names = [str(columns.names[number]) for number in here]
        pairs = [
            (str(columns.names[i]), str(columns.names[j]))
            for i, j in self.dense.pairs
            if columns.present[i] and columns.present[j]
        ]
        tested = [self._name_of_bin(number) for number in self.trees.tested()]
        return [
            names_of_entries(words, self.words.indices()),
            names_of_entries(grams, self.grams.indices()),
            *names_of_columns(names, pairs),
            tested,
            [CHARACTERS_OF_TEXT] if self.characters.x.n else [],
            [NEAREST] if self.window.x.n else [],
        ]

    def _name_of_bin(self, number: int) -> str:
        """Return the name of what a bin has; of none, what all events have in common."""
        if number < 0:
            return TREES
        limit = self.columns.limit
        name = self.columns.names[number] if number < limit else self.categories.names[number - limit]
        return f"{name}"

    def get_state(self) -> dict[str, Any]:
        """Return what was learned as plain values."""
        self._arrange()
        found = {
            "words": self.words.get_state(),
            "grams": self.grams.get_state(),
            "columns": self.columns.get_state(),
            "pairs": self.dense.get_state(),
        }
        if self.has_trees or self.has_neighbors:
            found["categories"] = self.categories.get_state()
        if self.has_trees:
            found["trees"] = self.trees.get_state()
        if self.has_characters:
            found["characters"] = self.characters.get_state()
        if self.has_neighbors:
            found["neighbors"] = self.window.get_state()
        return found

    def set_state(self, state: Mapping[str, Any], n_classes: int) -> None:
        """Take what `get_state` returned of a model of so many classes."""
        self.words.set_state(state["words"])
        self.grams.set_state(state["grams"])
        self.columns.set_state(state["columns"])
        if self.has_maps:
            self.dense.set_state(state["pairs"], self.columns)
        self._version = self.columns.version
        if self.has_characters:
            self.characters.set_state(state["characters"], n_classes)
            self.examples[CHARACTERS] = self.characters.x
        if self.has_trees or self.has_neighbors:
            self.categories.set_state(state["categories"])
            self._version_of_categories = self.categories.version
        if self.has_neighbors:
            self.window.set_state(state["neighbors"], self._bins_in_use(), self._hashes_in_use(), n_classes)
            self.examples[NEIGHBORS] = self.window.x
        if self.has_trees:
            self.trees.set_state(state["trees"], self._bins_in_use(), self._hashes_in_use())
            self._check_bins(state["trees"])
            self.examples[FOREST] = self.trees.x
            self.sizes[FOREST] = self.trees.n_slots
        self.sizes[WORDS], self.sizes[GRAMS] = self.words.n_slots, self.grams.n_slots
        self.sizes[PAIRED] = self.dense.n_paired
        self.examples[WORDS], self.examples[GRAMS] = self.words.x, self.grams.x

    def _check_bins(self, trees: Mapping[str, Any]) -> None:
        """Raise ValueError for trees that are grown on what never was a column or category."""
        bins = {test - 1 for test in trees["tests"] if test}.union(*trees["features"])
        limit = self.columns.limit
        unknown = bins.difference(
            range(self.columns.n), [limit + number for number in self.categories.chosen]
        )
        if unknown:
            raise ValueError(f"trees are grown on the bins {sorted(unknown)!r:.100}, which nothing has")

    def _words_by_index(self, name: Any, ngrams: list[str]) -> dict[int, str]:
        tag = self._hash(f"{name}:")
        found = {}
        for ngram in ngrams:
            *_, index = self._word_hasher.transform_one(ngram)  # of a pair, its words come first
            found[self.words.place(index ^ tag)] = f"{name}: {ngram}"
        return found

    def _grams_by_index(self, name: Any, text: str) -> dict[int, str]:
        tag = self._hash(f"{name}:")
        grams = [text[at : at + 4] for at in range(len(text) - 3)]
        return {
            self.grams.place(index ^ tag): f"{name}: {gram!r}"
            for gram in grams
            for index in self._gram_hasher.transform_one(gram)
        }
