"""Name what the maps of an event show, for explanations.

`named_maps.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Any

from perceptron_core.auto.explanation import (
    CELLS,
    CHARACTERS_OF_TEXT,
    MOST_NAMED,
    NEAREST,
    TREES,
    names_of_columns,
    names_of_entries,
    words_and_pairs,
)
from perceptron_core.auto.feature_maps import FeatureMaps
from perceptron_core.auto.layout import MOST_CHARACTERS
from perceptron_core.validation import is_boolean, named_values


class NamedMaps(FeatureMaps):
    """The maps, which can say which feature each of their entries is of."""

    def names(self, x: Any) -> list[list[str]]:
        """Return the names of the entries of each map for the event shown, which is `x`."""
        words: dict[int, str] = {}
        grams: dict[int, str] = {}
        n_words = n_grams = MOST_NAMED
        for name, value in named_values(x):
            if isinstance(value, str):
                ngrams = words_and_pairs(value, self._analyzer)[:n_words] if n_words else []
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
            [CELLS] if self.ferns.x.n else [],
        ]

    def _name_of_bin(self, number: int) -> str:
        """Return the name of what a bin has; of none, what all events have in common."""
        if number < 0:
            return TREES
        limit = self.columns.limit
        name = self.columns.names[number] if number < limit else self.categories.names[number - limit]
        return f"{name}"

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
