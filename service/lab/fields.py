"""The fields of records: statistics of their values, and which field may be label, id or event time."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from service.lab.evaluation import ScoreCurve
from service.mapping.notation import PLAIN_NUMBER, guess_decimal, guess_time_format, read_number
from service.messages.labels import BINARY

_NAMES: Final = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
WORDS: Final = {name: frozenset(words) for name, words in _NAMES["words"].items()}
"""Words in field names that indicate a role, in lower case, by role."""
_COMPACT_TIME: Final = re.compile(r"(19|20)\d{6}(\d{4}|\d{6})?")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORDS_OF_TEXT: Final = 3
_MIN_TEXT_LENGTH: Final = 40
_TEXT_DISTINCT_RATIO: Final = 0.3
"""Lowest ratio of distinct texts; below it, they are categories."""
_VECTOR_LENGTH: Final = 2


def means_missing(value: object, words: str = "missing") -> bool:
    """Return whether a value is a text that means a missing value."""
    return isinstance(value, str) and value.strip().lower() in WORDS[words]


def path_of(keys: Sequence[str]) -> str:
    """Return the JMESPath of a field.

    >>> path_of(["order", "user-id"])
    'order."user-id"'
    """
    return ".".join(key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case.

    >>> sorted(words_of("amountRefunded_EUR"))
    ['amount', 'eur', 'refunded']
    """
    return frozenset(word.lower() for word in _WORD.findall(name))


@dataclass
class Field:
    """A field of several records.

    Parameters
    ----------
    keys
        Names on the path to the field.
    n_records
        Number of records.
    values
        Values that are not null, by number of the record.
    expression
        A JMESPath that is more than the path.
    decimal
        Decimal sign of its numbers, if they were texts.
    time_format
        Format of its texts for `strptime`.

    """

    keys: tuple[str, ...]
    n_records: int
    values: dict[int, Any] = field(default_factory=dict)
    expression: str = ""
    decimal: str = ""
    time_format: str = ""

    @property
    def path(self) -> str:
        """Its JMESPath."""
        return self.expression or path_of(self.keys)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the last name on its path, in lower case."""
        return words_of(self.keys[-1])

    @cached_property
    def name(self) -> str:
        """Its own name in lower case, with only letters and digits."""
        return re.sub(r"[^a-z0-9]", "", self.keys[-1].lower())

    @cached_property
    def known(self) -> Mapping[int, Any]:
        """The values that do not stand for a missing value."""
        are_missing = {n: means_missing(value) for n, value in self.values.items()}
        certain = {n: value for n, value in self.values.items() if not are_missing[n]}
        words = {n for n, value in certain.items() if means_missing(value, "perhaps_missing")}
        others = {n: value for n, value in certain.items() if n not in words}
        are_categories = any(isinstance(value, str) and value[:1].isalpha() for value in others.values())
        return certain if are_categories else others

    @cached_property
    def distinct(self) -> Sequence[Any]:
        """The distinct known values."""
        return [*{json.dumps(value, sort_keys=True): value for value in self.known.values()}.values()]

    def texts(self) -> set[str]:
        """Return the known scalars as texts, in which form ids are compared."""
        return {*map(str, self.known.values())} if self.is_scalar else set()

    @property
    def is_unique(self) -> bool:
        """Whether no two records have the same value."""
        return len(self.distinct) == len(self.known)

    @property
    def is_nearly_unique(self) -> bool:
        """Whether few records repeat a value of another one."""
        return len(self.distinct) > _NEARLY_UNIQUE * len(self.known)

    @property
    def is_scalar(self) -> bool:
        """Whether no value is a list."""
        return bool(self.known) and not any(isinstance(value, list) for value in self.known.values())

    @cached_property
    def are_numbers(self) -> bool:
        """Whether all known values are numbers, or texts of numbers."""
        return self.is_scalar and all(
            PLAIN_NUMBER.fullmatch(value) is not None if isinstance(value, str) else _is_number(value)
            for value in self.known.values()
        )

    @property
    def are_texts_of_numbers(self) -> bool:
        """Whether some numbers are texts, or a text stands for a missing number."""
        return self.are_numbers and any(isinstance(value, str) for value in self.values.values())

    @cached_property
    def n_words(self) -> float:
        """Mean number of words, if the values are texts and not categories; else 0."""
        texts = [value for value in self.known.values() if isinstance(value, str)]
        if not texts or len(texts) < len(self.known) or self.are_numbers:
            return 0.0
        words = sum(len(text.split()) for text in texts) / len(texts)
        is_long = words >= _WORDS_OF_TEXT or (words > 1 and max(map(len, texts)) >= _MIN_TEXT_LENGTH)
        return words if is_long and len(self.distinct) >= _TEXT_DISTINCT_RATIO * len(texts) else 0.0

    @cached_property
    def vector_length(self) -> int:
        """Length of the values if they are lists of numbers of one length; else 0."""
        values = [*self.known.values()]
        lengths = {len(value) for value in values if isinstance(value, list) and all(map(_is_number, value))}
        is_vector = len(lengths) == 1 and all(isinstance(value, list) for value in values)
        length = lengths.pop() if is_vector else 0
        return length if length >= _VECTOR_LENGTH else 0


def fields_of(documents: Sequence[Mapping[str, Any]]) -> list[Field]:
    """Return the fields of records; fields within objects have a path, lists are not searched."""
    fields: dict[tuple[str, ...], Field] = {}
    for number, document in enumerate(documents):
        for keys, value in _leaves(document):
            here = fields.setdefault(keys, Field(keys, len(documents)))
            if value is not None:
                here.values[number] = value
    holders = {each.keys[:end] for each in fields.values() for end in range(1, len(each.keys))}
    return [each for each in fields.values() if each.keys not in holders or each.values]


def _leaves(
    document: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    items: Iterable[tuple[str, Any]] = document.items()
    for name, value in items:
        if isinstance(value, dict):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def read_as_written(fields: Iterable[Field]) -> None:
    """Find texts that are numbers or times in a human format; replace the texts of numbers by numbers."""
    for each in fields:
        texts = each.texts()  # in a CSV file, 9.91 is a number, and 1,234.50 is a text
        if not texts or time_form(each) or each.words & WORDS["ids"]:
            continue
        each.decimal = guess_decimal(texts) or ""
        each.time_format = "" if each.decimal else guess_time_format(texts) or ""
        if each.decimal:
            each.values |= {n: read_number(str(value), each.decimal) for n, value in each.known.items()}
            vars(each).pop("known")  # the cache holds the texts
            vars(each).pop("distinct", None)


def elements_of(field: Field) -> list[Field]:
    """Return the elements of a field's lists: scalars, and fields of objects."""
    items = [each for value in field.known.values() if isinstance(value, list) for each in value]
    fields = fields_of([item if isinstance(item, dict) else {"": item} for item in items])
    return [Field((*field.keys, *filter(None, each.keys)), len(each.values), each.values) for each in fields]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_CERTAIN: Final = 100
"""Score of a name that is certainly the label's."""
_NAMED: Final = 30
"""Lowest score of a label."""
_LABELS: Final = tuple((score, re.compile(pattern)) for score, pattern in _NAMES["labels"])
_LAST: Final = 15
_FIRST: Final = 10
"""Score for the position in a record."""
_RIVAL: Final = 45
"""Difference in score up to which another field may be the label, too."""
_SURE: Final = 75
"""Lowest score of an outcome that is not the label."""
_MAX_CLASSES: Final = 20
_MAX_CLASS_LENGTH: Final = 40
_IDS: Final[list[str]] = _NAMES["ranked"]["ids"]
_TIMES: Final[list[str]] = _NAMES["ranked"]["times"]
_NEARLY_UNIQUE: Final = 0.95
_MIN_KNOWN: Final = 0.9
"""Share of records that must have an id."""
_ENTITY_RATIO: Final = 0.3
"""Lowest ratio of distinct values to records for names of entities, such as users; below, categories."""
_EPOCH_SECONDS: Final = (946_684_800, 4_102_444_800)
"""Plausible times: the years 2000 to 2100."""
_SHORT_WORD: Final = 3
_UNITS: Final = (1, 1_000, 1_000_000, 1_000_000_000)
_SEPARATION: Final = 0.499
"""Least difference of the area under ROC from chance for a field that leaks the label."""
_MIN_SHOWN: Final = 20
"""Fewest records for a leak that is not chance."""


def find_labels(fields: Sequence[Field], *, is_table: bool) -> list[Field]:
    """Return the fields that may be the label by name, values and position, the likeliest first.

    If no name indicates it, the label is the last field of a table, if that has few values.
    """
    scores = [(_label_score(field), -len(field.keys), field) for field in fields]
    scores = [(score and score + _position_score(each, fields), depth, each) for score, depth, each in scores]
    scores.sort(key=lambda each: each[:2], reverse=True)
    named = [each for score, _, each in scores if score >= max(_NAMED, scores[0][0] - _RIVAL)]
    return named or [field for field in fields[-1:] if is_table and _may_be_label(field) and is_guess(field)]


def is_guess(field: Field) -> bool:
    """Return whether only its position and its few values indicate that a field is the label."""
    return not _label_score(field) and BINARY <= len(field.distinct) <= len(field.known) / BINARY


def _may_be_label(field: Field) -> bool:
    values = field.distinct
    if not values or len(values) > _MAX_CLASSES or not field.is_scalar:
        return False
    is_fraction = any(isinstance(value, float) and not value.is_integer() for value in values)
    return not is_fraction and all(len(str(value)) <= _MAX_CLASS_LENGTH for value in values)


def _label_score(field: Field) -> int:
    if not _may_be_label(field) or field.words & WORDS["measures"]:
        return 0
    text = " ".join(sorted({*field.words, field.name}))
    score = next((score for score, pattern in _LABELS if pattern.search(text)), 0)
    n = len(field.distinct)
    if score <= _NAMED and (n < BINARY or (score == _NAMED and n > BINARY)):
        return 0
    return score - 5 * (score > _NAMED and len(field.words) > 1)


def _position_score(field: Field, fields: Sequence[Field]) -> int:
    return _LAST if field is fields[-1] else _FIRST if field is fields[0] else 0


def find_id(fields: Sequence[Field], *, may_repeat: bool) -> Field | None:
    """Return the field with the ids of the records; None if there is none."""
    most = [each for each in fields if len(each.known) >= _MIN_KNOWN * each.n_records]
    named = [each for each in most if _id_rank(each) and (may_repeat or each.is_unique)]
    named = named or [each for each in most if each.name in _IDS and each.is_nearly_unique]
    first = [each for each in most if each is fields[0] and each.is_unique and _names_records(each)]

    def unlike(field: Field) -> tuple[bool, int, int]:
        return len(field.known) < field.n_records, len(field.keys), _id_rank(field)

    return min(named or first, key=unlike, default=None)


def _id_rank(field: Field) -> int:
    """Return the rank of a name as an id, 1 for the best; 0 if it is not an id."""
    is_id = all(
        isinstance(value, (str, int)) and not isinstance(value, bool) for value in field.known.values()
    )
    if not is_id or any(not 0 < len(str(value)) <= 256 for value in field.known.values()):  # noqa: PLR2004 - an id
        return 0
    if field.name in _IDS:
        return 1 + _IDS.index(field.name)
    if field.words & WORDS["ids"]:
        return 1 + len(_IDS)
    is_number = any(
        field.name.endswith(word)
        for word in WORDS["numbers"]
        if word in field.words or len(word) > _SHORT_WORD
    )
    return 2 + len(_IDS) if is_number else 0


def _names_records(field: Field) -> bool:
    """Return whether values are single words or count up one by one, as ids do."""
    values = [*field.known.values()]
    if not field.name or is_time(field) or field.words & WORDS["times"]:
        return False
    if all(isinstance(value, str) for value in values):
        return all(len(value.split()) == 1 for value in values) and not field.are_numbers
    return all(type(value) is int and value == values[0] + n for n, value in enumerate(values))


def is_identifier(field: Field) -> bool:
    """Return whether a field is another id of the records: its values are nearly unique."""
    many = len(field.distinct) > 0.9 * len(field.known) > 0.9 * _MIN_SHOWN
    is_text = all(isinstance(value, str) for value in field.known.values()) and not field.are_numbers
    return many and field.is_scalar and (is_text or bool(_id_rank(field)))


def is_entity(field: Field) -> bool:
    """Return whether a field names entities that have several records each, such as users."""
    many = len(field.distinct) > max(_MAX_CLASSES, _ENTITY_RATIO * len(field.known))
    return many and field.is_scalar and (field.name in WORDS["entities"] or bool(field.words & WORDS["ids"]))


def find_time(fields: Collection[Field]) -> Field | None:
    """Return the field of the event time, which each record has."""
    times = [field for field in fields if time_form(field) and len(field.known) == field.n_records]
    return min(times, key=lambda each: ([*_TIMES, each.name].index(each.name), len(each.keys)), default=None)


def is_time(field: Field) -> bool:
    """Return whether a field is a time, even if it cannot be the event time."""
    values = field.known.values()
    is_compact = bool(field.words & WORDS["times"]) and all(_COMPACT_TIME.fullmatch(f"{v}") for v in values)
    return bool(time_form(field)) or (bool(values) and (is_compact or all(map(_is_iso, values))))


def time_form(field: Field) -> str:
    """Return the form of a field that may be the event time; empty if it may not."""
    values = [*field.known.values()]
    if field.time_format:
        return f"written as {field.time_format}"
    if values and all(_is_iso(value) and datetime.fromisoformat(value).tzinfo for value in values):
        return "ISO 8601"
    if not field.words & WORDS["times"] or not field.are_numbers:
        return ""
    values = [*map(float, values)]
    first, last = _EPOCH_SECONDS
    for unit, name in zip(_UNITS, ("seconds", "milliseconds", "microseconds", "nanoseconds"), strict=True):
        if values and all(first * unit <= value < last * unit for value in values):
            return f"{name} since 1970"
    return ""


def _is_iso(value: object) -> bool:
    if not isinstance(value, str) or len(value) < len("2026-01-01"):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return not value.isdecimal()


def is_outcome(field: Field, label: Field) -> bool:
    """Return whether a name indicates that a field is known only after the event, like the label."""
    above = {word for key in field.keys[:-1] for word in words_of(key)} - WORDS["holders"]
    is_other_label = _SURE <= _label_score(field) < _CERTAIN and _label_score(label) < _CERTAIN
    return bool((above | field.words | {field.name}) & WORDS["outcomes"]) or (
        is_other_label and field is not label
    )


def determines(field: Field, truths: Mapping[int, Any]) -> bool:
    """Return whether a field, or whether it is missing or 0, determines nearly all labels."""
    return _separates(field, truths) or any(
        _predicts([(repr(form(field.known.get(number))), repr(truth)) for number, truth in truths.items()])
        for form in (lambda value: value, bool)
    )


def _separates(field: Field, truths: Mapping[int, Any]) -> bool:
    """Return whether numbers, sorted, have nearly all records of one of two classes first."""
    scores: dict[Any, list[float]] = {truth: [] for truth in truths.values()}
    if len(scores) != BINARY or not field.are_numbers:
        return False
    for number, value in field.known.items():
        if number in truths:
            scores[truths[number]].append(float(value))
    if min(map(len, scores.values())) < _MIN_SHOWN or len(field.known) < len(truths):
        return False
    curve = ScoreCurve.of(*scores.values())
    return curve is not None and abs(curve.auc() - 0.5) >= _SEPARATION


def _predicts(pairs: Collection[tuple[str, str]]) -> bool:
    counts = Counter(value for value, _ in pairs)
    repeats = len(pairs) >= max(_MIN_SHOWN, 4 * len(counts))
    return repeats and len(counts) > 1 and len({*pairs}) == len(counts)


def classes_of(names: Collection[str], count: Callable[[str], int]) -> list[str]:
    """Order classes: of two, the negative one first; if no name indicates it, that is the majority class."""
    ordered = sorted(names)
    if len(ordered) == 2:  # noqa: PLR2004 - two classes
        ordered.sort(key=lambda name: (name.lower() in WORDS["positive"], -count(name)))
    return ordered
