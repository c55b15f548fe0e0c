"""Settings of parts: windows by key, decisions, costs and drift; and of webhooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    SecretStr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from service.messages.json_values import first_repeated
from service.messages.labels import BINARY, TrueLabel, Vocabulary
from service.redaction import STARS
from service.settings import declaration as forms
from service.settings.declaration import Decides, Names, Table, disagreement, setting

EVENT, LABEL = "@event", "@label"
"""Keys in `of` for the events themselves, and for their labels."""
SINCE: Final = "seconds_since_last"
"""The aggregate without a span."""
_OF_EVENT: Final = ("count", SINCE)
_OF_LABEL: Final = ("rate",)
_OF_FIELD: Final = ("count", "sum", "mean", "min", "max", "std", "distinct")
_PERIODS_MS: Final[Mapping[str, int]] = {
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_UNITS_MS: Final = {period[0]: length_ms for period, length_ms in _PERIODS_MS.items()}
_SPAN: Final = re.compile(r"([1-9]\d{0,8})([smhdw])", re.ASCII)
_MAX_MS: Final = 10 * 366 * 86_400_000
_MAX_SPANS: Final = 8
_MAX_FEATURES: Final = 256


def span_ms(span: str) -> int:
    """Return the milliseconds of a span.

    >>> span_ms("90s"), span_ms("1d")
    (90000, 86400000)
    """
    match = _SPAN.fullmatch(span)
    if match is None or (length := int(match[1]) * _UNITS_MS[match[2]]) > _MAX_MS:
        wanted = "a number and s, m, h, d or w, such as 10m; 3660d at most"
        raise ValueError(f"expected {wanted}, got {span!r}")
    return length


def _check_spans(spans: tuple[str, ...]) -> tuple[str, ...]:
    lengths: dict[int, str] = {}
    for span in spans:
        if (other := lengths.setdefault(span_ms(span), span)) is not span:
            raise ValueError(f"expected different spans, got {other!r} and {span!r}, which are equal")
    return spans


def _check_aggregates(of: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    for what, names in of.items():
        known = {EVENT: _OF_EVENT, LABEL: _OF_LABEL}.get(what, _OF_FIELD)
        if what.startswith("@") and known is _OF_FIELD:
            raise ValueError(f"expected {EVENT}, {LABEL} or a path, got {what}")
        if known is _OF_FIELD:
            forms.check_path(what)
        if unknown := {*names} - {*known}:
            raise ValueError(f"{what}: unknown aggregate {min(unknown)!r}, expected {', '.join(known)}")
        if not names or first_repeated(names):
            raise ValueError(f"{what}: expected names of aggregates, each once: {', '.join(known)}")
    return of


class WindowSettings(Table):
    """A window by key."""

    by: str = setting(..., min_length=1, check=forms.check_path)
    """Where the key is: a path, or the name of a derived feature."""
    over: Names = setting(..., min_length=1, max_length=_MAX_SPANS, check=_check_spans)
    """Spans of event time, such as `10m`."""
    of: Mapping[str, Names] = setting(..., min_length=1, check=_check_aggregates)
    """What is aggregated, each with its aggregates: paths, names of derived features, `@event`, `@label`."""
    max_keys: int = Field(100_000, ge=1, le=10_000_000)

    def numbers(self) -> list[str]:
        """List the aggregated fields, without fields of which only distinct values are counted."""
        return [
            what for what, names in self.of.items() if what not in {EVENT, LABEL} and {*names} != {"distinct"}
        ]

    def hashed(self) -> list[str]:
        """List the fields whose distinct values are counted."""
        return [what for what, names in self.of.items() if "distinct" in names]

    def feature_name(self, what: str, aggregate: str, span: str) -> str:
        """Return the name of an aggregate's feature."""
        parts = (what.removeprefix("@"), aggregate, *(() if aggregate == SINCE else (span,)), "by", self.by)
        return "_".join(parts)

    def feature_names(self) -> Iterator[str]:
        """Yield the names of all features."""
        for what, aggregates in self.of.items():
            for aggregate in aggregates:
                for span in self.over[:1] if aggregate == SINCE else self.over:
                    yield self.feature_name(what, aggregate, span)


def check_windows(windows: tuple[WindowSettings, ...]) -> tuple[WindowSettings, ...]:
    """Check the number of the windows' features, and that their names differ. Raises `ValueError`."""
    names = [name for window in windows for name in window.feature_names()]
    if twice := first_repeated(names):
        raise ValueError(f"expected distinct features, got {twice!r} twice")
    if len(names) > _MAX_FEATURES:
        raise ValueError(f"expected at most {_MAX_FEATURES} features, got {len(names)}")
    return windows


COST: Final = "cost"
_GOALS: Final = ("min_precision", "max_false_positive_rate", "min_recall", COST, "threshold", "max_rate")
"""Goals in the order of `service.partition.parts.decisions`."""
_CONFIDENCE: Final = 0.8
_MAX_THRESHOLD: Final = 1e100
"""Largest threshold; `perceptron_core` has this constant, too, but takes long to import."""
_RATE: Final = re.compile(rf"([1-9]\d{{0,8}}) */ *({'|'.join(_PERIODS_MS)})", re.ASCII)

DRIFT: Final = "drift"
"""The type of a drift signal, and its name in webhooks."""


class DecisionSettings(Table):
    """A decision, with at most one goal, which determines its threshold; without a goal, costs do."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    name: str = Field(min_length=1, max_length=64)
    of: str = Field("", alias="class")
    """Its class; empty: the positive one."""
    min_precision: float | None = Field(None, gt=0, lt=1)
    max_false_positive_rate: float | None = Field(None, gt=0, lt=1)
    min_recall: float | None = Field(None, gt=0, lt=1)
    threshold: float | None = None
    max_rate: str | None = None
    confidence: float = Field(_CONFIDENCE, ge=0.5, lt=1)
    """Confidence of the one-sided bound that sets the threshold, from 0.5 (the plain estimate) to below 1."""

    @property
    def goal(self) -> str:
        """The goal that determines its threshold."""
        return next(iter(self._goals()), COST)

    @property
    def level(self) -> float | str:
        """The level of its goal."""
        level: float | str = self._goals().get(self.goal, 0.0)
        return level

    def _goals(self) -> dict[str, Any]:
        return {name: value for name, value in self if name in _GOALS and value is not None}

    @model_validator(mode="after")
    def _check_goals(self) -> Self:
        if len(goals := self._goals()) > 1:
            raise ValueError(f"expected one goal, got {' and '.join(goals)}")
        if self.goal in {COST, "threshold", "max_rate"} and self.confidence != _CONFIDENCE:
            raise ValueError(f"confidence: has no effect on {self.goal}")
        if abs(self.threshold or 0.0) > _MAX_THRESHOLD:
            raise ValueError(f"threshold: expected a number from {-_MAX_THRESHOLD:g} to {_MAX_THRESHOLD:g}")
        if self.max_rate is not None and not _RATE.fullmatch(self.max_rate):
            wanted = f"a whole number from 1 to 999999999 by {', '.join(_PERIODS_MS)}, such as 100/day"
            raise ValueError(f"max_rate: expected {wanted}")
        return self

    @model_serializer(mode="wrap")
    def _without_other_goals(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None}


def goal_of(
    given: DecisionSettings, classes: Sequence[str]
) -> tuple[int, float, TrueLabel, float, tuple[int, int]]:
    """Return the goal, level, class, confidence and rate of a decision, for `Rule`.

    Raises
    ------
    ValueError
        The class is missing or unknown; never raised for a checked `Settings`.

    """
    if not given.of and len(classes) > BINARY:
        raise ValueError(f"{given.name!r} needs class = NAME, as there are more than two classes")
    truth = Vocabulary(classes).truth_of_text(given.of) if given.of else True
    goal = _GOALS.index(given.goal)
    if rate := _RATE.fullmatch(given.max_rate or ""):
        return goal, 0.0, truth, given.confidence, (int(rate[1]), _PERIODS_MS[rate[2]])
    return goal, float(given.level), truth, given.confidence, (0, 0)


def spell_goal(goal: int, level: float, budget: int, period_ms: int) -> str:
    """Format a goal as in the settings.

    >>> spell_goal(0, 0.95, 0, 0), spell_goal(5, 0.0, 24, 86_400_000), spell_goal(3, 0.0, 0, 0)
    ('min_precision = 0.95', 'max_rate = 24/day', 'cost')

    """
    if _GOALS[goal] == COST:
        return COST
    period = next((name for name, length_ms in _PERIODS_MS.items() if length_ms == period_ms), "")
    return f"{_GOALS[goal]} = {f'{budget}/{period}' if budget else f'{level:g}'}"


class CostSettings(Table):
    """What mistakes cost, in any unit."""

    false_positive: float = setting(0.0, Decides.DECISIONS, common=True, ge=0, le=1e12)
    """Cost of acting on an event that is not of the positive class."""
    false_negative: float = setting(0.0, Decides.DECISIONS, common=True, ge=0, le=1e12)
    """Cost of not acting on an event of the positive class."""

    @property
    def are_given(self) -> bool:
        """Whether costs are configured."""
        return self.false_positive > 0

    @model_validator(mode="after")
    def _check_both(self) -> Self:
        if (self.false_positive > 0) != (self.false_negative > 0):
            names = ("costs.false_positive", "costs.false_negative")
            raise disagreement(names, f"{names[0]} and {names[1]} must both be given, and be more than 0")
        return self


def check_decisions(
    decisions: Sequence[DecisionSettings], costs: CostSettings, classes: Sequence[str]
) -> None:
    """Raise `PydanticCustomError` if decisions and costs do not fit each other or the classes."""
    if twice := first_repeated(decision.name for decision in decisions):
        raise disagreement(("decisions",), f"expected different names, got {twice!r} twice")
    for decision in decisions:
        try:
            goal_of(decision, classes)
        except ValueError as error:
            raise disagreement(("decisions", "classes"), str(error)) from None
        if decision.goal == COST and not costs.are_given:
            raise disagreement(
                ("decisions", "costs.false_positive"),
                f"{decision.name!r} needs a goal such as min_precision, or [costs]",
            )
    if costs.are_given and len(classes) > BINARY:
        raise disagreement(("costs.false_positive", "classes"), f"expected two classes, got {len(classes)}")


class DriftSettings(Table):
    """The detection of drifts, and the reaction to them."""

    labels_between_false_alarms: float = setting(1e6, Decides.DRIFT, ge=1000, le=1e15)
    """Mean number of labels between two false alarms, at least."""
    reaction: Literal["none", "record"] = setting("none", Decides.DRIFT)
    """Reaction to a drift of a partition's error: none, or record a signal."""

    @property
    def is_on(self) -> bool:
        """Whether drifts are detected."""
        return self.reaction != "none"


MISTAKE: Final = "mistake"
DECISION: Final = "decision:"
_NAME: Final = re.compile(r"[\w.:+-]{1,100}")
_WEB_URL: Final = re.compile(
    r"(https?://(?:\[[0-9a-f:.]+\]|[^/?#@:\s\[\]]+)(?::\d+)?)(?=[/?#]|$)", re.IGNORECASE
)
"""The URL up to the path, which may contain a token."""


def _check_url(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    if not _WEB_URL.match(text):
        raise ValueError("expected https://host/path, without a user name")
    if not text.isascii() or re.search(r"\s", text):
        raise ValueError("expected ASCII letters without spaces: percent-encode all others")
    return url


def _check_on(on: tuple[str, ...]) -> tuple[str, ...]:
    if DRIFT in on and len(on) > 1:
        raise ValueError("drift needs a separate webhook, as it is in another topic")
    plain = {MISTAKE, DRIFT}
    if not on or not all(each in plain or each.removeprefix(DECISION) not in {"", each} for each in on):
        raise ValueError("expected mistake, decision:NAME, or drift")
    return on


def _check_name(name: str) -> str:
    if name and not _NAME.fullmatch(name):
        raise ValueError("expected letters, digits and . : + - _, 100 at most")
    return name


class WebhookSettings(Table):
    """Where alerts are posted, and which."""

    model_config = ConfigDict(hide_input_in_errors=True)

    url: SecretStr = setting(..., check=_check_url)
    """It often has a token in its path: only the host is ever shown."""
    on: Names = setting(..., check=_check_on)
    name: str = setting("", check=_check_name)
    """Part of the consumer group's name; by default the value of `on`."""
    secret: SecretStr = SecretStr("")
    timeout_seconds: float = Field(10.0, gt=0, le=300)
    concurrency: int = Field(4, ge=1, le=64)

    @property
    def title(self) -> str:
        """Its name, or else the alert that it is for."""
        return self.name or "+".join(self.on)

    @property
    def address(self) -> str:
        """Return the part of the URL that may be shown: a token may be anywhere after the host."""
        match = _WEB_URL.match(self.url.get_secret_value())
        return f"{match[1] if match else ''}/{STARS}"

    def shown(self) -> Mapping[str, object]:
        """Return the webhook without secrets, to be shown."""
        return {"name": self.title, "on": self.on, "url": self.address}


def check_titles(webhooks: tuple[WebhookSettings, ...]) -> tuple[WebhookSettings, ...]:
    """Check that the titles of webhooks differ. Raises `ValueError`."""
    if twice := first_repeated(webhook.title for webhook in webhooks):
        raise ValueError(f"two webhooks are named {twice!r}: give each its own name")
    return webhooks
