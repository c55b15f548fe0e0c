"""Make the examples of an event, one for each feature map, from its numbers, booleans, categories and texts.

Also name the entries of the maps, for explanations, and save and load their state.

`feature_maps.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Final

from perceptron_core.auto.characters import MAX_BITS, Characters
from perceptron_core.auto.columns import Columns
from perceptron_core.auto.dense_maps import DenseMaps
from perceptron_core.auto.explanation import (
    CHARACTERS_OF_TEXT,
    MAX_NAMED,
    NEAREST,
    TREES,
    names_of_columns,
    names_of_entries,
    words_and_pairs,
)
from perceptron_core.auto.plan import (
    BOOSTED,
    CHARACTERS,
    FOREST,
    GRAMS,
    MAX_CHARACTERS,
    N_FOURIER,
    N_MAPS,
    NEIGHBORS,
    PAIRED,
    WORDS,
    Plan,
)
from perceptron_core.auto.token_map import TokenMap
from perceptron_core.elementary import asinh
from perceptron_core.text.hasher import TextHasher
from perceptron_core.text.murmur3 import Murmur
from perceptron_core.trees import N_BINS, N_PARTS
from perceptron_core.trees.categories import Categories
from perceptron_core.trees.neighbors import Window
from perceptron_core.trees.refitted import RefittedTrees
from perceptron_core.trees.trees import Trees
from perceptron_core.validation import (
    MAX_MAGNITUDE,
    FeatureError,
    as_double,
    is_boolean,
    named_values,
    reject_features,
)

AFTER_EARLY: Final = 2.0
"""Factor of a label's weight if its event was learned early, as another class, and cannot be unlearned."""
_LAST_PLACE: Final = (N_BINS - 1) * N_PARTS
"""A position in the last bin for any shift of the bins."""
_LONGEST_VALUE: Final = 32
"""Longest string, in characters, that is also a category."""


class FeatureMaps:
    """Converts an event to examples for linear learners.

    `words` contains words and pairs of words of strings, short strings as categories, booleans, and numbers
    that are not columns; `grams` the 4-grams of characters of strings; `dense` the columns.

    Parameters
    ----------
    bits
        Indices of hashed features are modulo 2**bits.
    seed
        Seed of the random draws.
    limit
        Largest number of columns of dense numbers.
    plan
        The experts that may join; maps that none of them uses are not computed.

    """

    def __init__(self, bits: int, seed: int, limit: int, plan: Plan) -> None:
        self.bits = bits
        self.columns = Columns(limit)
        self.has_texts, self.has_maps = "words" in plan.groups, "dense" in plan.groups
        self.dense = DenseMaps(seed, limit if self.has_maps else 0)
        token_bits = bits if self.has_texts else 1
        self.words, self.grams = TokenMap(token_bits), TokenMap(token_bits)
        self.has_trees, self.has_characters = plan.n_trees > 0, "characters" in plan.groups
        self.categories = Categories(limit)
        self.trees = Trees(seed, plan.n_trees, limit, 2 * limit)
        self.characters = Characters(min(bits, MAX_BITS), _LONGEST_VALUE + 1 if self.has_texts else 0)
        self.has_neighbors = "neighbors" in plan.groups
        self.window = Window(limit, 2 * limit)
        self.has_boosted, self._is_kept = "boosted" in plan.groups, False
        self.boosted = RefittedTrees(seed, limit, 2 * limit)
        dense = self.dense
        self.examples = [
            *(self.words.x, self.grams.x, dense.linear, dense.binned, dense.paired),
            *(dense.fourier.x, dense.wide.x, self.trees.x, self.characters.x, self.window.x),
            *(self.boosted.x, dense.linear),
        ]
        self._bins, self._places = bytearray(2 * limit), array("H", bytes(4 * limit))
        """Bins and positions of columns, then of categories."""
        self.n_classes = 0
        self.active = bytearray(N_MAPS)
        """For each map, whether it is active: whether the present event has features for it."""
        self._word_hasher = TextHasher(bits, analyzer="scripts", ngrams=(1, 2), prefix="")
        self._gram_hasher = TextHasher(bits, analyzer="chars", ngrams=(4, 4), lowercase=False, prefix="")
        self._murmur = Murmur(b"")
        self._version = self._version_of_categories = 0
        self.is_empty = True
        """Whether the present event has no features."""
        sizes = [0, 0, limit, dense.n_binned, dense.n_binned, N_FOURIER, N_FOURIER, 0, 0, 0, 0, limit]
        self.sizes = array("i", sizes)
        """Number of slots of each map."""

    def load(self, x: Any) -> None:
        """Set the examples to an event, without the parts that `compute` computes and without learning.

        Raises `FeatureError` unless a value is a boolean, a string, None or a finite number of at
        most 1e100, and for a string with a lone surrogate.
        """
        self._arrange()
        self.words.clear()
        self.grams.clear()
        self.columns.clear()
        self.categories.clear()
        self.characters.clear()
        named = x if type(x) is dict else dict(named_values(x))
        for name, value in named.items():
            self._add(name if type(name) is str else f"{name}", value)
        if self.columns.n_events == 0:
            for name in self.columns.remove_ones():
                self.words.add(self._hash(f"{name}"), 1.0)
        if self.columns.n_present > 0:
            self.columns.standardise()
        if self.columns.n_present > 0 and self.has_maps:
            self.dense.compute(self.columns)
        else:
            self.dense.clear()
        self.is_empty = not (self.words.x.n or self.grams.x.n or self.columns.n_present)
        for m in range(N_MAPS):  # without features, the maps' log-odds are intercepts
            self.active[m] = self.is_empty or self.columns.n_present > 0
        if not self.is_empty:
            self.active[WORDS] = self.words.x.n > 0
            self.active[GRAMS] = self.grams.x.n > 0
        self.active[CHARACTERS] = self.has_characters and (
            self.is_empty or self.characters.has_text or not self.has_texts
        )
        self._pass_bins()

    def compute(self) -> None:
        """Compute the predictions of naive Bayes and nearest neighbours, which are shared by all classes."""
        if self.active[CHARACTERS]:
            self.characters.score()
        if self.active[NEIGHBORS]:
            self.window.score()
        if self.active[BOOSTED]:
            self.boosted.score()

    def _pass_bins(self) -> None:
        """Pass the event's columns and categories, if any, to trees and neighbours."""
        active = not self.has_maps or self.is_empty or self.columns.n_present > 0 or self.categories.in_event
        self.active[FOREST], self.active[NEIGHBORS] = self.has_trees and active, self.has_neighbors and active
        self._is_kept = self.has_boosted and active
        self.active[BOOSTED] = self._is_kept and self.boosted.trees.n_trees > 0
        if self.active[FOREST] or self.active[NEIGHBORS] or self._is_kept:
            self.categories.write_codes(self._bins, self.columns.limit)
        if self.active[NEIGHBORS]:
            self.window.set_event(self.columns.z, self.columns.present, self._bins)
        if self._is_kept:
            self.boosted.set_event(self.columns.values, self.columns.present, self._bins)
        if self.active[FOREST]:
            self._compute_bins()
            self.trees.set_event(self._places)

    def _compute_bins(self) -> None:
        """Compute the bins of the columns, and the positions of columns and categories."""
        for number in range(self.columns.n):
            z = self.columns.z[number] if self.columns.present[number] else 0.0
            part = int((z / (1.0 + abs(z)) + 1.0) * (0.5 * N_BINS * N_PARTS))
            self._places[number] = min(part, _LAST_PLACE)
            self._bins[number] = self._places[number] // N_PARTS
        for k in range(len(self.categories.chosen)):
            at = self.columns.limit + self.categories.chosen[k]
            self._places[at] = self._bins[at] * N_PARTS

    def reserve(self, n_classes: int) -> None:
        """Allocate memory for learning the present event with this number of classes."""
        self.n_classes = n_classes
        if self.active[FOREST]:
            self.trees.reserve(n_classes)
            self.sizes[FOREST] = self.trees.n_slots + 2 * self.trees.n_trees
        if self.active[CHARACTERS]:
            self.characters.reserve(n_classes)
        if self.active[NEIGHBORS]:
            self.window.reserve(n_classes)
        if self._is_kept:
            self.boosted.reserve(n_classes)

    def count(self, number: int, w: float, is_wrong: int, auto_is_wrong: bool, was_early: bool) -> None:
        """Update naive Bayes, nearest neighbours and boosted trees with the present event."""
        if self.active[CHARACTERS]:
            self.characters.learn(number, w)
        if self.active[NEIGHBORS]:
            self.window.learn(number, w)
        if self._is_kept and (not was_early or not self.boosted.relabel(number, w / AFTER_EARLY)):
            self.boosted.learn(number, w, is_wrong, auto_is_wrong)

    def grow(self, number: int, w: float) -> None:
        """Update the trees with the present event, its class and weight."""
        self.trees.learn(self._places, number, self.n_classes, w)
        self.sizes[FOREST] = self.trees.n_slots

    def learn(self) -> None:
        """Learn features, slots and columns from the present event, which remains present."""
        self.words.assign_slots()
        self.grams.assign_slots()
        self.sizes[WORDS], self.sizes[GRAMS] = self.words.n_slots, self.grams.n_slots
        self.columns.commit()
        self.categories.commit()
        if self.has_trees:
            for number, code in self.categories.freed:
                self.trees.forget(self.columns.limit + number, code)

    def _arrange(self) -> None:
        """Adapt to the present set of columns, if it has changed."""
        if self.columns.version != self._version and self.has_maps:
            self.dense.arrange(self._hashes_of_columns())
            self.sizes[PAIRED] = self.dense.n_paired
        is_new = self.has_trees and self.trees.leaves.n_classes == 0
        if (
            is_new
            or self.columns.version != self._version
            or self.categories.version != self._version_of_categories
        ):
            bins, hashes = self._bins_in_use(), self._hashes_in_use()
            if self.has_trees:
                self.trees.arrange(bins, hashes, self.n_classes)
            if self.has_neighbors:
                self.window.arrange(bins, hashes)
            if self.has_boosted:
                self.boosted.arrange(bins, hashes)
        self._version, self._version_of_categories = self.columns.version, self.categories.version

    def _hashes_of_columns(self) -> dict[int, int]:
        """Return the hash of the name of each column, in the order of their numbers."""
        hashes = {}
        for number in sorted(self.columns.numbers.values()):
            hashes[number] = self._hash(f"{self.columns.names[number]}")
        return hashes

    def _hashes_in_use(self) -> list[int]:
        """Return the hashes of the names of the columns, then of the categories."""
        hashes = [*self._hashes_of_columns().values()]
        for number in self.categories.chosen:
            hashes.append(self._hash(f"{self.categories.names[number]}="))
        return hashes

    def _bins_in_use(self) -> list[int]:
        """Return the bins of the columns, then of the categories."""
        limit = self.columns.limit
        return [
            *sorted(self.columns.numbers.values()),
            *[limit + number for number in self.categories.chosen],
        ]

    def _add(self, name: Any, value: Any) -> None:
        if type(value) is float:
            self._add_number(name, value)
        elif isinstance(value, str):
            self._add_text(name, str.__str__(value))
        elif is_boolean(value):
            self.words.add(self._hash(f"{name}={bool(value)}"), 1.0)
            self.categories.observe(name, str(bool(value)))
        elif value is not None:
            try:
                number = as_double(value)
            except (TypeError, ValueError, OverflowError):
                raise reject_features({name: value}) from None
            self._add_number(name, number)

    def _add_number(self, name: Any, number: float) -> None:
        if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
            raise reject_features({name: number})
        if not self.columns.observe(name, number) and number != 0:
            self.words.add(self._hash(name), 1.0 if number == 1 else asinh(number))

    def _add_text(self, name: Any, text: str) -> None:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise FeatureError(f"feature {name!r} has a lone surrogate, which is not a text") from None
        tag = self._hash(f"{name}:")
        if 0 < len(text) <= _LONGEST_VALUE:
            self.categories.observe(name, text)
        first_word, first_gram = self.words.x.n, self.grams.x.n
        self._word_hasher.clear()
        self._gram_hasher.clear()
        if self.has_texts:
            self._word_hasher.append(text)
            self.words.prefetch(self._word_hasher.indices, self._word_hasher.filled, tag)
            self._gram_hasher.append(text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS])
            self.grams.prefetch(self._gram_hasher.indices, self._gram_hasher.filled, tag)
        if self.has_characters:
            self.characters.add(text, tag)
        if not self.has_texts:
            return
        self.words.add_all(self._word_hasher.indices, self._word_hasher.filled, tag)
        self.grams.add_all(self._gram_hasher.indices, self._gram_hasher.filled, tag)
        if self._word_hasher.filled != 1 and 0 < len(text) <= _LONGEST_VALUE:
            self.words.add(self._hash(f"{name}={text}"), 1.0)
        self.words.scale(first_word)
        self.grams.scale(first_gram)

    def _hash(self, name: str) -> int:
        return self._murmur.hash_text(name) & 0x7FFFFFFF


class NamedMaps(FeatureMaps):
    """Feature maps that can name the features of their entries, and save and load their state."""

    def names(self, x: Any) -> list[list[str]]:
        """Return the names of the entries of each map for the present event, which must be `x`."""
        words: dict[int, str] = {}
        grams: dict[int, str] = {}
        n_words = n_grams = MAX_NAMED
        for name, value in named_values(x):
            if isinstance(value, str):
                ngrams = words_and_pairs(value)[:n_words] if n_words else []
                n_words -= len(ngrams)
                words.update(self._words_by_index(name, ngrams))
                cut = value[: min(MAX_CHARACTERS, n_grams)]
                n_grams -= len(cut)
                grams.update(self._grams_by_index(name, cut))
                words.setdefault(self.words.bounded_index(self._hash(f"{name}={value}")), f"{name}={value}")
            elif is_boolean(value):
                words[self.words.bounded_index(self._hash(f"{name}={bool(value)}"))] = f"{name}={bool(value)}"
            else:
                words[self.words.bounded_index(self._hash(f"{name}"))] = f"{name}"
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
            [],
            names,
        ]

    def boosted_contributions(self, number: int) -> dict[str, float]:
        """Return the contributions of features to the boosted trees' prediction for a class."""
        parts = self.boosted.contributions(number) if self.active[BOOSTED] else {}
        return {self._name_of_bin(bin_number): part for bin_number, part in parts.items()}

    def _name_of_bin(self, number: int) -> str:
        """Return the feature name of a bin; for an unused bin, the name of the common term."""
        if number < 0:
            return TREES
        limit = self.columns.limit
        name = self.columns.names[number] if number < limit else self.categories.names[number - limit]
        return f"{name}"

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        self._arrange()
        found = {
            "words": self.words.get_state(),
            "grams": self.grams.get_state(),
            "columns": self.columns.get_state(),
            "pairs": self.dense.get_state(),
        }
        if self.has_trees or self.has_neighbors or self.has_boosted:
            found["categories"] = self.categories.get_state()
        if self.has_trees:
            found["trees"] = self.trees.get_state()
        if self.has_characters:
            found["characters"] = self.characters.get_state()
        if self.has_neighbors:
            found["neighbors"] = self.window.get_state()
        if self.has_boosted:
            found["boosted"] = self.boosted.get_state()
        return found

    def set_state(self, state: Mapping[str, Any], n_classes: int) -> None:
        """Set a state from `get_state` of a model with `n_classes` classes."""
        self.words.set_state(state["words"])
        self.grams.set_state(state["grams"])
        self.columns.set_state(state["columns"])
        if self.has_maps:
            self.dense.set_state(state["pairs"], self._hashes_of_columns())
        self._version = self.columns.version
        if self.has_characters:
            self.characters.set_state(state["characters"], n_classes)
            self.examples[CHARACTERS] = self.characters.x
        if self.has_trees or self.has_neighbors or self.has_boosted:
            self.categories.set_state(state["categories"])
            self._version_of_categories = self.categories.version
        bins, hashes = self._bins_in_use(), self._hashes_in_use()
        if self.has_neighbors:
            self.window.set_state(state["neighbors"], bins, hashes, n_classes)
            self.examples[NEIGHBORS] = self.window.x
        if self.has_boosted:
            self.boosted.set_state(state["boosted"], bins, hashes, n_classes)
            self.examples[BOOSTED] = self.boosted.x
        if self.has_trees:
            self.trees.set_state(state["trees"], bins, hashes)
            self._check_bins(state["trees"])
            self.examples[FOREST] = self.trees.x
            self.sizes[FOREST] = self.trees.n_slots
        self.sizes[WORDS], self.sizes[GRAMS] = self.words.n_slots, self.grams.n_slots
        self.sizes[PAIRED] = self.dense.n_paired
        self.examples[WORDS], self.examples[GRAMS] = self.words.x, self.grams.x

    def _check_bins(self, trees: Mapping[str, Any]) -> None:
        """Raise `ValueError` for trees whose splits use an unknown column or category."""
        bins = {test - 1 for test in trees["tests"] if test}.union(*trees["features"])
        limit = self.columns.limit
        unknown = bins.difference(
            range(self.columns.n), [limit + number for number in self.categories.chosen]
        )
        if unknown:
            raise ValueError(f"trees use unknown bins {sorted(unknown)!r:.100}")

    def _words_by_index(self, name: Any, ngrams: list[str]) -> dict[int, str]:
        tag = self._hash(f"{name}:")
        found = {}
        for ngram in ngrams:
            *_, index = self._word_hasher.transform_one(ngram)  # a pair comes after its words
            found[self.words.bounded_index(index ^ tag)] = f"{name}: {ngram}"
        return found

    def _grams_by_index(self, name: Any, text: str) -> dict[int, str]:
        tag = self._hash(f"{name}:")
        grams = [text[at : at + 4] for at in range(len(text) - 3)]
        return {
            self.grams.bounded_index(index ^ tag): f"{name}: {gram!r}"
            for gram in grams
            for index in self._gram_hasher.transform_one(gram)
        }
