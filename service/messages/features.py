r"""Features of an event: x, a dictionary of numbers, from its named values and its text.

Numbers are unchanged, booleans become 0 and 1, a string becomes the category `name=value` with value 1, a
token of the text becomes `text=token`. With hashing, names become indices below 2**bits. An event of a tenant
has every feature twice: `name` and `tenant=acme×name`. To keep these names unique, a feature that begins with
`tenant=` gets a backslash, `tenant\=`, and so do × and \ in a tenant.

A vector has hundreds of numbers, with the same names in every event. So the names are made once and shared,
instead of a dictionary for each event.

`features.pxd` gives this module its C types.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from math import sqrt
from typing import Any, Literal

import mmh3

from perceptron_core.text.hasher import TextHasher
from perceptron_core.text.scripts import folded, tokens_of
from perceptron_core.text.tokenizer import Analyzer
from perceptron_core.validation import MAX_MAGNITUDE
from perceptron_core.weights.feature_array import FeatureArray
from perceptron_core.weights.values import IndexedValues, NamedValues, indexed_values
from service.messages.rejection import Reason, Rejection
from service.messages.schema import Features

_TEXT_PREFIX = "text="
_TEXT_NAME = "text"
_TENANT = "tenant"
_MAX_JOINED = 64
_MAX_VALUE = float(MAX_MAGNITUDE)

X = dict[Any, Any]
"""Feature values by name (str) or, hashed, by index (int): numbers, and with `RawFeatures` any values."""


class VectorNames:
    """The names of a vector's numbers.

    Parameters
    ----------
    names
        Distinct names, in order.

    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._set = frozenset(self.names)
        self._joined: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.hashed: HashedNames | None = None
        """The hashed indices of the names, which the extractor caches here."""

    def are_new(self, features: dict[str, Any]) -> bool:
        """Return whether none of the names is a feature."""
        return self._set.isdisjoint(features)

    def followed_by(self, features: dict[str, Any]) -> tuple[str, ...] | None:
        """Return the names of features followed by these, usually the same object; None if a name repeats."""
        first = tuple(features)
        joined = self._joined.get(first)
        if joined is None and self.are_new(features):
            if len(self._joined) >= _MAX_JOINED:
                self._joined.clear()
            joined = self._joined[first] = first + self.names
        return joined


class HashedNames:
    """The hashed indices of a vector's numbers; numbers whose names collide are added.

    Parameters
    ----------
    indices
        The index of each name.
    mask
        The largest possible index.

    """

    def __init__(self, indices: Iterable[int], mask: int) -> None:
        self.mask = mask
        positions: dict[int, int] = {}
        self._positions = array("i", [positions.setdefault(index, len(positions)) for index in indices])
        """The position of each number's index among the distinct indices."""
        self._indices = array("i", positions)
        self._set = frozenset(positions)
        self._n = len(positions)

    def joined(
        self,
        first: dict[int, float],
        vectors: tuple[NamedValues, ...],
        last: dict[int, float],
        is_scaled: bool,  # noqa: FBT001  C has no keywords
    ) -> IndexedValues | None:
        """Join the values of hashed features, vectors and a text, as `joined_values` does.

        None if two of the three share an index.
        """
        if not (self._set.isdisjoint(first) and self._set.isdisjoint(last)):
            return None
        if last and not last.keys().isdisjoint(first):
            return None
        made = IndexedValues.__new__(IndexedValues)
        made._allocate(len(first) + self._n + len(last))  # noqa: SLF001  what makes it in C
        n = k = 0
        for index, value in first.items():
            made.indices[n], made.numbers[n] = index, value
            n += 1
        for j in range(self._n):
            made.indices[n + j], made.numbers[n + j] = self._indices[j], 0.0
        for vector in vectors:
            for at in range(vector.n):
                made.numbers[n + self._positions[k + at]] += vector.numbers[at]
            k += vector.n
        n += self._n
        for index, value in last.items():
            made.indices[n], made.numbers[n] = index, value
            n += 1
        if is_scaled:
            _scale_numbers(made.numbers, made.n)
        return made


class VectorFeatures(FeatureArray):
    """An immutable mapping of features, followed by the numbers of vectors.

    Parameters
    ----------
    first
        The features of the message: numbers, booleans and texts.
    names
        The names of all vectors' numbers, distinct from the names of the features.
    vectors
        The numbers of each vector.

    """

    def __init__(self, first: dict[str, Any], names: VectorNames, vectors: tuple[NamedValues, ...]) -> None:
        self.first = first
        self.names = names
        self.vectors = vectors
        self.n = len(first) + len(names.names)

    def as_dict(self) -> dict[str, Any]:
        """Return a new dictionary of the features and values, in the same order."""
        made = self.first.copy()
        for vector in self.vectors:
            made.update(vector.as_dict())
        return made


def listed_values(names: tuple[str, ...], values: list[Any]) -> NamedValues | None:
    """Return named values of a list; None unless all are floats or integers up to `MAX_MAGNITUDE`.

    There is one name for each value, and names are distinct.
    """
    if len(values) != len(names):
        return None
    made = NamedValues.__new__(NamedValues)
    made._allocate(names)  # noqa: SLF001  what makes it in C
    try:
        for k in range(made.n):
            value = values[k]
            if type(value) is not float and type(value) is not int:
                return None
            number = float(value)
            if not -_MAX_VALUE <= number <= _MAX_VALUE:
                return None
            made.numbers[k] = number
    except OverflowError:
        return None
    return made


def joined_values(
    names: tuple[str, ...],
    first: dict[str, float],
    others: tuple[NamedValues, ...],
    last: dict[str, float],
    is_scaled: bool,  # noqa: FBT001  as above
) -> NamedValues:
    """Join a dictionary's numbers, which are doubles, and further values under the given names.

    If scaled, they have length 1.
    """
    made = NamedValues.__new__(NamedValues)
    made._allocate(names)  # noqa: SLF001  what makes it in C
    n = 0
    for value in first.values():
        made.numbers[n] = value
        n += 1
    for other in others:
        for k in range(other.n):
            made.numbers[n + k] = other.numbers[k]
        n += other.n
    for value in last.values():
        made.numbers[n] = value
        n += 1
    if is_scaled:
        _scale_numbers(made.numbers, made.n)
    return made


def _scale_numbers(numbers: array[float], n: int) -> None:
    """Divide numbers by ‖x‖₂, as the extractor does with a dictionary."""
    squares = 0.0
    for k in range(n):
        squares += numbers[k] * numbers[k]
    norm = sqrt(squares)
    if norm:
        for k in range(n):
            numbers[k] /= norm


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """Options of the extractor; each field but the last two is the setting of the same name."""

    text: Analyzer = "words"
    ngrams: tuple[int, int] = (1, 1)
    lowercase: bool = True
    text_values: Literal["binary", "counts"] = "binary"
    normalize: Literal["none", "l2"] = "none"
    hash_bits: int = 0
    has_tenants: bool = False
    """Whether names that begin with `tenant=` are reserved for tenants' features."""
    hash_key: bytes = b""
    """Key of the hash of tenants' features, at most 64 bytes; empty: anybody can compute the hash."""


class FeatureExtractor:
    """Makes x from the features and the text of an event.

    An index is the lowest `hash_bits` bits of MurmurHash3 (x86, 32 bits, seed 0) of the UTF-8 name, as in
    scikit-learn's FeatureHasher without its alternating sign. Values of features whose names collide are
    added; colliding tokens of a binary text count once.

    With a tenant, each feature occurs once for all tenants and once for this tenant, and `tenant=acme` is the
    tenant's bias: feature hashing for multitask learning (Weinberger et al. 2009). The index of a tenant's
    feature is the MurmurHash3 of `tenant=acme×` in UTF-8 followed by the common feature's index in four
    bytes, little-endian; the index of the tenant's bias is that of `tenant=acme`. With `hash_key`, the tenant
    is represented by eight bytes of BLAKE2b, of the key and `tenant=acme`, after the index: so a producer
    cannot compute which features collide with another tenant's weights.
    """

    def __init__(self, options: FeatureOptions) -> None:
        self._hasher = hasher = _hasher(options) if options.hash_bits else None
        self._of_text: Callable[[str], X] = hasher.transform_one if hasher else _named_text(options)
        self._l2 = options.normalize == "l2"
        self._mask = (1 << options.hash_bits) - 1
        self._has_tenants = options.has_tenants
        self._key = options.hash_key

    def extract(self, features: Features | None, text: str | None, tenant: str | None = None) -> X:
        """Return x of an event; if nothing needs to change, x is `features` itself.

        Parameters
        ----------
        features
            Named values, or None.
        text
            Free text, or None.
        tenant
            The tenant of the event; None: no tenant.

        """
        x: X = {}
        if isinstance(features, FeatureArray):
            features = features.as_dict()
        if features:
            if not _are_doubles(features):
                x = _as_numbers(features, ())
            elif text or tenant is not None or self._l2:
                x = features.copy()  # a copy, as it is changed below
            else:
                x = features
            if self._has_tenants:
                x = _reserved(x)
            if self._mask:
                x = self._hashed(x)
        if text:
            x = _sum(x, self._of_text(text))
        if tenant is not None:
            x = _sum(x, self._of_tenant(x, tenant))
        if self._l2:
            _scale_to_unit_length(x)
        return x

    def as_numbers(self, features: Features | None, others: Container[str]) -> X:
        """Return a number for each value, as `extract` does first; texts named in `others` are unchanged."""
        if isinstance(features, FeatureArray):
            features = features.as_dict()
        return _as_numbers(features, others) if features else {}

    def extract_values(self, features: Features | None, text: str | None, tenant: str | None = None) -> X:
        """Return x as `extract` does, in arrays if nothing needs to change.

        These are the event's `NamedValues`; or its features, vectors and text features joined; or the hashed
        features of a text without others.
        """
        if text and not features and tenant is None and not self._l2 and self._hasher is not None:
            hasher = self._hasher
            hasher.clear()
            hasher.append(text)
            return indexed_values(hasher.indices, hasher.values, hasher.filled)
        if tenant is None and not self._has_tenants:
            if type(features) is NamedValues and not (text or self._l2 or self._mask):
                return features
            if type(features) is VectorFeatures and (joined := self._joined(features, text)) is not None:
                return joined
        return self.extract(features, text, tenant)

    def _joined(self, features: VectorFeatures, text: str | None) -> NamedValues | IndexedValues | None:
        """Join features, vectors and a text in one array; None if two of them share a name or an index."""
        first, shared, last = features.first, features.names, self._of_text(text) if text else {}
        if not _are_doubles(first):
            first = _as_numbers(first, ())
        if not self._mask:
            names = shared.followed_by(first)
            if names is None or (last and not last.keys().isdisjoint(names)):
                return None
            names += tuple(last)
            return joined_values(names, first, features.vectors, last, self._l2)
        if shared.hashed is None or shared.hashed.mask != self._mask:
            shared.hashed = HashedNames([_index_of(name, self._mask) for name in shared.names], self._mask)
        return shared.hashed.joined(self._hashed(first), features.vectors, last, self._l2)

    def _hashed(self, named: X) -> X:
        x: X = {}
        for name, value in named.items():
            index = _index_of(name, self._mask)
            x[index] = x.get(index, 0.0) + value
        return x

    def _of_tenant(self, x: X, tenant: str) -> X:
        """Return the features for all tenants and the features of one tenant."""
        if self._mask:
            return self._hashed_of_tenant(x, f"{_TENANT}={tenant}")
        escaped = tenant.replace("\\", "\\\\").replace("×", "\\×")
        bias = f"{_TENANT}={escaped}"
        return {bias: 1.0} | {f"{bias}×{name}": value for name, value in x.items()}

    def _hashed_of_tenant(self, x: X, tenant: str) -> X:
        bias, before, after, mask = tenant.encode(), f"{tenant}×".encode(), b"", self._mask
        if self._key:
            bias = after = blake2b(bias, key=self._key, digest_size=8).digest()
            before = b""
        own: X = {mmh3.hash(bias, 0, False) & mask: 1.0}  # noqa: FBT003 - signed; by name takes twice the time
        for shared, value in x.items():
            index = mmh3.hash(before + shared.to_bytes(4, "little") + after, 0, False) & mask  # noqa: FBT003
            own[index] = own.get(index, 0.0) + value
        return own


class RawFeatures:
    """Leaves events unchanged, for a model that makes its own features.

    Parameters
    ----------
    takes_text
        Whether the model uses texts.

    """

    def __init__(self, *, takes_text: bool = True) -> None:
        self._takes_text = takes_text

    def as_numbers(self, features: Features | None, others: Container[str]) -> X:  # noqa: ARG002 - see above
        """Return the features, in a new dictionary."""
        return dict(features.items()) if features else {}

    def extract(
        self,
        features: Features | None,
        text: str | None,
        tenant: str | None = None,  # noqa: ARG002 - as of `FeatureExtractor`; `make_extractor` rejects one
    ) -> X:
        """Return the features and the text, as `text`, or `text of the event` if `text` is a feature.

        Raises `Rejection` if there is only a text and the model does not use texts.
        """
        x: X = dict(features.items()) if features else {}  # looking up each name in an array would take n²
        if text is not None:
            if not x and not self._takes_text:
                raise Rejection(Reason.MODEL_ERROR, "the model needs numbers or categories, got only text")
            name = _TEXT_NAME
            while name in x:
                name = f"{name} of the event"
            x[name] = text
        return x


def _hasher(options: FeatureOptions) -> TextHasher:
    return TextHasher(
        options.hash_bits,
        analyzer=options.text,
        ngrams=options.ngrams,
        lowercase=options.lowercase,
        counts=options.text_values == "counts",
        prefix=_TEXT_PREFIX,
    )


def _named_text(options: FeatureOptions) -> Callable[[str], X]:
    if options.text == "chars":
        tokens = _char_ngrams(*options.ngrams)
    elif options.text == "scripts":
        tokens = _ngrams(lambda text: [*tokens_of(text)], *options.ngrams)
    else:
        tokens = _ngrams(re.compile(r"\w+").findall, *options.ngrams)

    def cased(text: str) -> str:
        if options.text == "scripts":
            return folded(text, options.lowercase)
        return text.lower() if options.lowercase else text

    def features(text: str) -> X:
        words = tokens(cased(text))
        names = [f"{_TEXT_PREFIX}{token}" for token in words]
        if options.text_values == "counts":
            return {name: float(times) for name, times in Counter(names).items()}
        return dict.fromkeys(names, 1.0)

    return features


def _index_of(name: str, mask: int) -> int:
    return mmh3.hash(name.encode(), 0, signed=False) & mask  # given a str, mmh3 5.3 crashes at a surrogate


def _are_doubles(features: Features) -> bool:
    """Return whether all values are doubles, the usual case, so that none needs to be converted."""
    for value in features.values():  # noqa: SIM110 - compiled, no generator is made
        if type(value) is not float:
            return False
    return True


def _as_numbers(features: Features, others: Container[str]) -> X:
    """Return a number for each value; a text becomes a category, except under the names in `others`."""
    x: X = {}
    for name, value in features.items():
        if type(value) is float:
            x[name] = value
        elif isinstance(value, str):
            if name in others:
                x[name] = value
            else:
                x[f"{name}={value}"] = 1.0
        else:
            x[name] = float(value)
    return x


def _reserved(named: X) -> X:
    """Return the features under names that no feature of a tenant has."""
    x: X = {}
    for name, value in named.items():
        if name.startswith(_TENANT) and name[len(_TENANT) :].lstrip("\\").startswith("="):
            x[f"{_TENANT}\\{name[len(_TENANT) :]}"] = value
        else:
            x[name] = value
    return x


def _ngrams(cut: Callable[[str], list[str]], shortest: int, longest: int) -> Callable[[str], Iterable[str]]:
    def ngrams(text: str) -> Iterable[str]:
        words = cut(text)
        if longest == 1:
            return words
        return (
            " ".join(words[start : start + n])
            for n in range(shortest, longest + 1)
            for start in range(len(words) - n + 1)
        )

    return ngrams


def _char_ngrams(shortest: int, longest: int) -> Callable[[str], Iterable[str]]:
    def ngrams(text: str) -> Iterable[str]:
        return (
            text[start : start + n]
            for n in range(shortest, longest + 1)
            for start in range(len(text) - n + 1)
        )

    return ngrams


def _sum(x: X, more: X) -> X:
    if not x:
        return more
    for name, value in more.items():
        x[name] = x.get(name, 0.0) + value
    return x


def _scale_to_unit_length(x: X) -> None:
    """Divide by ‖x‖₂ in place, unless x = 0. Values are at most 1e100, so squares do not overflow."""
    squares = 0.0
    for value in x.values():  # not `sum`, which rounds differently since Python 3.12
        squares += value * value
    norm = sqrt(squares)
    if norm:
        for name in x:
            x[name] /= norm
