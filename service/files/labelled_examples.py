"""Read whole files of examples as pairs of features and truth, for training over a finite set.

Messages that would become dead letters, and events without a label, are counted and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from perceptron_core import FeatureError, Hyperplane
from service.errors import InputFileError
from service.files.rows import rejection_of_row
from service.mapping.mapper import warn_of_missing_fields
from service.messages.features import RawFeatures, X
from service.messages.labels import TrueLabel
from service.messages.rejection import Reason, Rejection, Skipped
from service.partition.factory import make_decoder, make_extractor, reject_windows
from service.settings.load import Settings
from service.settings.mapping import EventSettings

Example = tuple[X, TrueLabel]
WeightedExample = tuple[Example, float]

_NO_LABEL_HINT: Final = (
    "name the label column of a CSV file with --label-column; its first line must name the columns"
)
_EXPECTED: Final = "`perceptron schema event` shows the expected fields"
_FORMAT_HINT: Final = "set the file's format with --input-format"
_OWN_HINTS: Final = {
    Reason.INVALID_TYPE: "map objects and lists with --events-features '*'",
    Reason.UNKNOWN_FIELD: "ignore other fields with --events-unknown-fields ignore, or --labels-…",
}
"""Hint for records of the native schema."""


@dataclass(slots=True)
class ExampleSet:
    """The usable examples of a file, in order, and the number of others."""

    name: str
    """Name of the file."""
    examples: list[Example] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    """The weight of each example's label; 1 if it has none."""
    unlabelled: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    """Records skipped by a filter."""

    @property
    def records(self) -> int:
        """Number of messages, without those skipped."""
        return len(self.examples) + self.unlabelled + self.rejected.total()

    def truths(self) -> set[TrueLabel]:
        """Return the classes of the labels."""
        return {truth for _, truth in self.examples}

    def describe(self) -> dict[str, object]:
        """Return the counts for a summary; None for a count that is left out."""
        return {
            "skipped": self.skipped or None,
            "examples": len(self.examples),
            "unlabelled": self.unlabelled,
            "rejected": self.rejected.total(),
            "rejected_by_reason": dict(self.rejected),
        }


def read_examples(
    messages: Iterable[bytes],
    settings: Settings,
    name: str,
    on_rejection: Callable[[Rejection], None] = lambda _: None,
) -> ExampleSet:
    """Decode messages and extract their features as the service does.

    Parameters
    ----------
    messages
        Events as bytes.
    settings
        Decide how to read labels and make features.
    name
        Name of the file, for errors.
    on_rejection
        Receives each rejected message.

    Raises
    ------
    InputFileError
        No message is a labelled example.

    """
    reject_windows(settings)
    decoder, extractor = make_decoder(settings), make_extractor(settings)
    result = ExampleSet(name)
    for message in messages:
        try:
            incoming = decoder.decode(message)
            x = extractor.extract(incoming.features, incoming.text, incoming.tenant)
            if not isinstance(extractor, RawFeatures):  # the decoder has checked raw features
                _reject_large_values(x)
        except Skipped:
            result.skipped += 1
            continue
        except Rejection as rejection:
            result.rejected[rejection.reason] += 1
            on_rejection(rejection_of_row(message, rejection))
            continue
        if incoming.truth is None or incoming.is_label:
            result.unlabelled += 1
        else:
            result.examples.append((x, incoming.truth))
            result.weights.append(1.0 if incoming.weight is None else incoming.weight)
    warn_of_missing_fields([decoder.missing_fields()])
    if not result.examples and not result.rejected and not result.unlabelled:
        raise InputFileError(f"{result.name}: {nothing_left(result.skipped)}")
    if not result.examples:
        why = f"{result.rejected.total()} messages cannot be used, {result.unlabelled} have no label"
        raise InputFileError(
            f"{result.name}: no labelled example;  {why}",
            hint=rejection_hint(result.rejected, settings.events) or no_label_hint(settings.events),
        )
    return result


def nothing_used(rejected: int, skipped: int) -> str:
    """Describe why no record is an event."""
    return f"all {rejected} messages were rejected" if rejected else nothing_left(skipped)


def nothing_left(skipped: int) -> str:
    """Describe that there is no record, or that a filter skipped all."""
    return f"events.where skips all of {skipped} records" if skipped else "the file is empty"


def no_label_hint(events: EventSettings) -> str:
    """Return a hint for messages without labels."""
    if events.maps_fields:
        return "name the label field with --events-label; `perceptron check-input` shows the labels found"
    return f"{_EXPECTED}; {_NO_LABEL_HINT}"


def rejection_hint(reasons: Collection[str], events: EventSettings) -> str:
    """Return a hint for messages of a file that were rejected for these reasons; empty without reasons."""
    if not reasons:
        return ""
    if Reason.UNKNOWN_LABEL in reasons:
        return "name every class, the negative one first: --classes ham,spam"
    if Reason.HOOK_ERROR in reasons:
        return "fix the function of events.hook (--features), which raised the error above"
    if Reason.MODEL_ERROR in reasons:
        return "fix the model of --model, which raised the error above"
    if events.maps_fields:
        return "map the fields with --events-id, --labels-id, …; `check-input` shows the result"
    how = next((hint for reason, hint in _OWN_HINTS.items() if reason in reasons), _FORMAT_HINT)
    return f"{how}; {_EXPECTED}"


def _reject_large_values(x: X) -> None:
    """Reject examples that learners reject: the sum of hashed values may exceed the bound."""
    try:
        Hyperplane().score_one(x)
    except FeatureError as error:
        raise Rejection(Reason.OUT_OF_RANGE, str(error)) from None
