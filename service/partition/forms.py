"""The form of a partition's state in snapshots, which is checked before the parts restore their states.

The model, the windows and the schemas are checked where they are read; the form of counts follows from their
classes. A change here or there changes the format of snapshots: then increase
`service.checkpoints.snapshot.LOG_VERSION` for the next release.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Final, NamedTuple, NotRequired, get_type_hints

import msgpack
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    InstanceOf,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import TypedDict

from perceptron_core import DamagedError
from perceptron_core.validation import NewerError
from service.errors import pydantic_sentence
from service.partition.parts.counters import Counters
from service.partition.parts.quality import BINS, Calibration, Confusion, ScoreBins

Text = InstanceOf[str]
"""Any string, also one with lone surrogates, which Pydantic would reject when it copies."""
Count = Annotated[int, Field(ge=0, le=1 << 53)]
Whole = Annotated[int, Field(ge=-(1 << 53), le=1 << 53)]
TrueLabel = bool | Text
Counts = dict[Text, Count]
Bins = Annotated[Sequence[Count], Field(min_length=BINS, max_length=BINS)]

Features = dict[Text | int, float | bool | Text]
_FEATURES: Final = TypeAdapter(Features)


def _check_packed(kept: bytes) -> bytes:
    """Return packed features; raises `ValueError` unless they are features."""
    _FEATURES.validate_python(msgpack.unpackb(kept, strict_map_key=False), strict=True)
    return kept


_CLOSED: Final = with_config(ConfigDict(extra="forbid"))
"""A field that is missing here was added by a newer release."""


class ExampleForm(NamedTuple):
    """`service.partition.examples.row_of`."""

    event_id: Text
    kept: Annotated[bytes, AfterValidator(_check_packed)] | Features
    predicted: TrueLabel
    score: float
    timestamp_ms: Whole
    truth: TrueLabel | None
    step: Any
    message_bytes: Count
    keys: bytes = b""
    is_provisional: bool = False
    decision: Text | None = None
    weight: FiniteFloat = 1.0
    due_ms: int = 0
    is_learned_early: bool = False


class EarlyForm(NamedTuple):
    """`service.partition.label_join.EarlyLabel`, after the id of its event."""

    event_id: Text
    truth: TrueLabel
    timestamp_ms: Whole
    weight: FiniteFloat | None = None


@_CLOSED
class DelaysForm(TypedDict):
    """`MatchedDelays.state`."""

    delays: Annotated[Sequence[Count], Field(max_length=1000)]
    labels: Count
    first_ms: Whole | None


@_CLOSED
class JoinForm(TypedDict):
    """`LabelJoin.state`."""

    event_time_ms: Whole
    examples: Sequence[ExampleForm]
    early: Sequence[EarlyForm]
    expired: Sequence[Text]
    delays: NotRequired[DelaysForm]


@_CLOSED
class ConfusionForm(TypedDict):
    """`Confusion.state`."""

    cells: Sequence[tuple[TrueLabel, TrueLabel, Count]]
    revoked: Sequence[tuple[TrueLabel, TrueLabel, Count]]


def _form_of(kind: type[Any], **special: Any) -> Any:  # noqa: ANN401 - a type
    """Return the form of the state of a data class, given forms of fields that their types do not tell."""
    hints = get_type_hints(kind)
    forms = {each.name: special.get(each.name) or _FORMS[hints[each.name]] for each in fields(kind)}
    return _CLOSED(TypedDict(kind.__name__, forms))  # type: ignore[operator] # names of the class


_FORMS: Final[Mapping[Any, Any]] = {
    int: Count,
    float: FiniteFloat,
    list[int]: Bins,
    list[float]: Annotated[Sequence[FiniteFloat], Field(min_length=BINS, max_length=BINS)],
    Counter[str]: Counts,
    Counter[int]: Sequence[tuple[Whole, Whole]],
    deque[str]: Sequence[Text],
    deque[bool]: Sequence[bool],
    Confusion: ConfusionForm,
}
"""The forms of fields of data classes, by type."""
_COUNTERS: Final = _form_of(
    Counters, assumed=Whole, revised=Whole, calibration=_form_of(Calibration), score_bins=_form_of(ScoreBins)
)

ClassBinsForm = tuple[TrueLabel, Count, Count, Sequence[tuple[float, FiniteFloat, FiniteFloat]]]
"""`ClassBins.state`."""


class BudgetForm(NamedTuple):
    """`Budget.state`."""

    n_used: Count
    threshold: float
    times: tuple[Whole, Whole, Whole]
    n_since_search: Count
    bins: ClassBinsForm


class RuleForm(NamedTuple):
    """`Rule.state` of decisions."""

    key: Sequence[Any]
    threshold: float
    n_decided: Count
    n_labelled: Count
    n_right: Count
    evidence: FiniteFloat
    spent: BudgetForm | None


@_CLOSED
class DecisionsForm(TypedDict):
    """`Decisions.state`."""

    counts: tuple[Count, Count, Count]
    times: tuple[Whole, Whole]
    cost: tuple[FiniteFloat, FiniteFloat]
    bins: Sequence[ClassBinsForm]
    rest: NotRequired[dict[Text, ClassBinsForm]]
    rules: Sequence[RuleForm]
    calibrated: bool


@_CLOSED
class DriftForm(TypedDict):
    """`Drift.state`."""

    counts: Counts
    error: tuple[Sequence[Count], Sequence[Count], Count, Count]


class StateForm(TypedDict):
    """`Processor.state`."""

    model: bytes
    join: JoinForm
    counters: _COUNTERS  # type: ignore[valid-type] # made from the class
    spelling: Any
    classes: Sequence[Text]
    arithmetic: int
    decisions: NotRequired[DecisionsForm]
    drift: NotRequired[DriftForm]


_FORM: Final = TypeAdapter(StateForm)


def check_form(state: Any) -> None:  # noqa: ANN401
    """Raise `DamagedError` unless a state has its form, `NewerError` for one that has more fields."""
    try:
        _FORM.validate_python(state, strict=True)
    except ValidationError as error:
        details = error.errors()[0]
        kind = NewerError if details["type"] == "extra_forbidden" else DamagedError
        raise kind(f"{'.'.join(map(str, details['loc']))}: {pydantic_sentence(details)}") from None
