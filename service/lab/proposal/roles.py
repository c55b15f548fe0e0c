"""Find the label, the id, the event time and the fields that would tell the label."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from service.lab.proposal.field import Field, words_of

_CERTAIN: Final = 100
"""A field of such a name is the label: others are not, whatever they are called."""
_LABELS: Final[Sequence[tuple[int, frozenset[str]]]] = (
    (_CERTAIN, frozenset({"label", "target", "class", "y", "truth", "groundtruth"})),
    (90, frozenset({"fraud", "spam", "chargeback", "churn", "churned", "exited"})),
    (80, frozenset({"clicked", "click", "converted", "conversion", "default", "defaulted", "survived"})),
    (80, frozenset({"diagnosis", "sentiment", "species", "income", "toxic", "disputed", "outcome"})),
    (60, frozenset({"category", "severity", "level", "status", "state", "result", "verdict", "refunded"})),
    (50, frozenset({"v1"})),
)
"""Names of labels, or words in them, the surest first."""
_SURE: Final = 80
"""From here on a field is an outcome, if it is not the label."""
_MOST_CLASSES: Final = 20
_LONGEST_CLASS: Final = 40
_OUTCOME_WORDS: Final = frozenset(
    {
        *("refund", "refunded", "chargeback", "dispute", "disputed", "outcome", "result", "resolution"),
        *("resolved", "closed", "decision", "verdict", "approved", "declined", "settled", "reviewed"),
        *("cancelled", "canceled", "returned"),
    }
)
_HOLDERS: Final = frozenset({"result", "decision"})
"""Objects of these names may have everything in them."""
UNDECIDED: Final = frozenset({"pending", "open", "new", "unknown", "processing", "unlabeled", "unlabelled"})
"""Classes, in lower case, of what has no label yet."""
_POSITIVE: Final = frozenset(
    {
        *("1", "true", "yes", "y", "spam", "fraud", "chargeback", "churned", "churn", "clicked"),
        *("positive", "bad", "toxic", "malignant", "m", ">50k", "error"),
    }
)
_IDS: Final = ("id", "uuid", "guid", "eventid", "messageid", "transactionid", "key")
_TIMES: Final = (
    *(
        "timestamp",
        "eventtime",
        "time",
        "ts",
        "tsms",
        "createdat",
        "created",
        "occurredat",
        "datetime",
        "date",
    ),
)
_TIME_WORDS: Final = frozenset({"time", "timestamp", "ts", "date", "datetime", "created", "at", "when"})
_EPOCH_SECONDS: Final = (946_684_800, 4_102_444_800)
"""2000 to 2100."""
_UNITS: Final = (1, 1_000, 1_000_000, 1_000_000_000)
_LEAST_SHOWN: Final = 20
"""Records from which on it is no accident that a field tells the label."""


def find_label(fields: Collection[Field]) -> Field | None:
    """Return the field whose name and values are most like those of a label; None if none are."""
    found = [(_label_score(each), -len(each.keys), each) for each in fields]
    best = max(found, key=lambda each: each[:2], default=None)
    return best[2] if best is not None and best[0] else None


def _label_score(field: Field) -> int:
    values = field.distinct
    if not values or len(values) > _MOST_CLASSES or not field.is_scalar:
        return 0
    if any(isinstance(value, float) and not value.is_integer() for value in values):
        return 0
    if any(len(str(value)) > _LONGEST_CLASS for value in values):
        return 0
    for score, names in _LABELS:
        if field.name in names or field.words & (names - {"y", "v1", "class", "click"}):
            return score if field.name in names else score - 5
    return 30 if "is" in field.words and all(isinstance(value, bool) for value in values) else 0


def find_id(fields: Collection[Field], *, may_repeat: bool) -> Field | None:
    """Return the field that names each record; None if there is none."""
    named = [each for each in fields if _id_rank(each) and len(each.known) == each.n_records]
    unique = [each for each in named if may_repeat or each.is_unique]
    return min(unique, key=lambda each: (_id_rank(each), len(each.keys)), default=None)


def _id_rank(field: Field) -> int:
    """Return how unlike an id a name is, from 1; 0 if it is none."""
    is_id = all(
        isinstance(value, (str, int)) and not isinstance(value, bool) for value in field.known.values()
    )
    if not is_id or any(not 0 < len(str(value)) <= 256 for value in field.known.values()):  # noqa: PLR2004 - an id
        return 0
    if field.name in _IDS:
        return 1 + _IDS.index(field.name)
    return 1 + len(_IDS) if field.words & {"id", "uuid", "guid", "no", "number"} else 0


def is_identifier(field: Field) -> bool:
    """Return whether a field is another name of a record: nearly each has its own."""
    many = len(field.distinct) > 0.9 * len(field.known) > 0.9 * _LEAST_SHOWN
    is_text = all(isinstance(value, str) for value in field.known.values()) and not field.are_numbers
    return many and field.is_scalar and (is_text or bool(_id_rank(field)))


def find_time(fields: Collection[Field]) -> Field | None:
    """Return the field that is the event time: each record has it."""
    times = [each for each in fields if time_form(each) and len(each.known) == each.n_records]
    return min(times, key=lambda each: (_time_rank(each), len(each.keys)), default=None)


def _time_rank(field: Field) -> int:
    return _TIMES.index(field.name) if field.name in _TIMES else len(_TIMES)


def is_time(field: Field) -> bool:
    """Return whether a field is a time, if perhaps none that can be the event time."""
    return bool(time_form(field)) or (bool(field.known) and all(map(_is_iso, field.known.values())))


def time_form(field: Field) -> str:
    """Return how a time is written that may be the event time; empty if it is none."""
    values = [*field.known.values()]
    if values and all(_is_iso(value) and _has_zone(value) for value in values):
        return "ISO 8601"
    if not field.words & _TIME_WORDS or not all(type(value) in {int, float} for value in values):
        return ""
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


def _has_zone(value: str) -> bool:
    return datetime.fromisoformat(value).tzinfo is not None


def is_outcome(field: Field, label: Field) -> bool:
    """Return whether a name says that a field is decided after the event, as the label is."""
    above = {word for key in field.keys[:-1] for word in words_of(key)} - _HOLDERS
    is_other_label = _SURE <= _label_score(field) < _CERTAIN and _label_score(label) < _CERTAIN
    return bool((above | field.words | {field.name}) & _OUTCOME_WORDS) or (
        is_other_label and field is not label
    )


def tells(field: Field, truths: Mapping[int, Any]) -> bool:
    """Return whether a field, or that it is missing, says the label of each record."""
    by_value: defaultdict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for number, truth in truths.items():
        value = repr(field.known.get(number))
        by_value[value].add(repr(truth))
        counts[value] += 1
    repeats = len(truths) >= max(_LEAST_SHOWN, 4 * len(counts))
    return repeats and len(counts) > 1 and all(len(each) == 1 for each in by_value.values())


def classes_of(names: Collection[str], count: Callable[[str], int]) -> list[str]:
    """Order classes: of two the negative one first, which is the commoner one if no name says so."""
    ordered = sorted(names)
    if len(ordered) == 2:  # noqa: PLR2004 - two classes
        ordered.sort(key=lambda name: (name.lower() in _POSITIVE, -count(name)))
    return ordered
