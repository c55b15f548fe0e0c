"""Write answers: the models that describe them in the OpenAPI document, and the problems of errors.

Events and predictions are those of the stream (`service.messages.schema`). No model is made of an answer to
an event or a label: its fields are written as the model would write them. A `Problem` says what, where, hint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Self

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from perceptron_core import MistakeBound
from service.errors import (
    IdTaken,
    MessageTooLarge,
    ModelBusy,
    NoSuchModel,
    PartitionElsewhere,
    ServiceError,
    TooManyWaiting,
    pydantic_sentence,
)
from service.messages.labels import LabelValue
from service.messages.rejection import Rejection
from service.messages.schema import EVENT_TIME, Assessment, Prediction, optional
from service.models.explanation import Method

_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "/docs lists all addresses",
    HTTPStatus.METHOD_NOT_ALLOWED: "/docs describes each address",
}
SOON_SECONDS: Final = "1"


class UnsupportedBody(ServiceError):
    """A body in a form that is not read here."""


_STATUSES: Final[Mapping[type[ServiceError], HTTPStatus]] = {
    IdTaken: HTTPStatus.CONFLICT,
    MessageTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    PartitionElsewhere: HTTPStatus.MISDIRECTED_REQUEST,
    TooManyWaiting: HTTPStatus.TOO_MANY_REQUESTS,
    UnsupportedBody: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
_UNREADABLE: Final = HTTPStatus.UNPROCESSABLE_ENTITY
RETRYABLE: Final = frozenset({HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS})


class Answered(BaseModel):
    """What all answers have in common: nothing is in them that is not described."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class WhatIsWrong(Answered):
    """What is wrong with a request, or with a line of its body."""

    what: str
    """What is wrong."""
    where: str
    """In which part of the request, or of the service."""
    hint: str = ""
    """What to do about it."""
    reason: str | None = None
    """Of an event or a label: the `error.reason` its dead letter would have."""
    partition: int | None = None
    """Of an event or a label that belongs to another process: where it goes."""


class LineProblem(WhatIsWrong):
    """Why a line of a body was not answered, or not acknowledged."""

    line: int = Field(ge=1)
    """Its number in the body."""
    status: int
    """Of the answer to a request of its own."""


class LinesAppended(Answered):
    """What became of the lines of a body: each was acknowledged, or has its problem."""

    lines: int = Field(ge=0)
    """How many there are, empty ones included."""
    acknowledged: int = Field(ge=0)
    """Those that are durable on the topic."""
    repeated: int = Field(ge=0)
    """Of the acknowledged, those that had been appended before."""
    problems: list[LineProblem]
    """Of all others, in order."""


class Problem(WhatIsWrong):
    """Why a request was not answered."""

    lines: LinesAppended | None = None
    """Of an NDJSON body that is not acknowledged as a whole; the rest is about one line."""


class FeatureContribution(Answered):
    """What one feature did to the score."""

    feature: str
    value: float | None
    """Null where it is not a number of the event: a word, say."""
    weight: float | None
    """Null where the model has no one weight for the feature."""
    contribution: float
    known: bool | None
    """Whether the model has learned anything about it; null where that cannot be told."""


class LivePrediction(Assessment):
    """A prediction by the model of an open partition."""

    partition: int = Field(ge=0)
    """Whose model was asked."""
    owned: bool
    """Whether that is the partition to which an event with this id as its key goes: if not, its events
    are predicted by another model, perhaps in another process."""


class Appended(Answered):
    """Where an event or a label is."""

    id: str
    topic: str
    partition: int = Field(ge=0)
    repeated: bool
    """Whether it had been appended before, or was being appended: it is there once."""


class CommittedPrediction(Prediction):
    """The prediction of an event that was appended, as it is on the predictions topic."""

    updates: int | None = optional(  # type: ignore[assignment] # of an event that is kept it is not known
        "Updates the model had made when it predicted; absent where the event came before.", ge=0
    )
    event_time_ms: int = Field(description=EVENT_TIME)
    partition: int = Field(ge=0)
    repeated: bool
    """Whether it had been appended before, or was being appended: it is there once."""


class Expert(Answered):
    """A learner of a mixture."""

    name: str
    weight: float
    """Of its log-odds in the answer that leads."""
    mistakes: int
    """All it made."""
    recent_mistakes: float
    """The same, older ones discounted."""
    recent_labels: float
    """The labels it was evaluated by, discounted alike."""


class Explanation(LivePrediction):
    """A prediction, and which features decided."""

    method: Method
    """`weights`: contributions and bias add up to the score, of the predicted class where there are
    several. `mixture`: the same, where the score is the log-odds of a mixture of learners.
    `leaving_out`: how far the score falls without the feature; no sum."""
    bias: float | None
    contributions: list[FeatureContribution]
    """The largest first, whatever their sign."""
    features_not_examined: int = Field(ge=0)
    """Features, those of the smallest values, that were not left out one by one."""
    leader: str | None
    """Of a mixture: whose answer it is."""
    experts: list[Expert]
    """Of a mixture: its learners, the heaviest first."""


class Weight(Answered):
    """One weight."""

    name: str
    """The feature; of several classes `class: feature`."""
    weight: float


class Bound(Answered):
    """The perceptron's mistake bound (R/γ)² on the latest examples, which the model separates."""

    updates: float | None
    """(R/γ)²; null while no separator is known."""
    radius: float
    """R: the largest length of an example."""
    margin: float | None
    """γ: the smallest margin of an example."""
    examples: int
    """How many examples there are since the model's last update."""
    reason: str
    """Why there is no bound; empty if there is."""

    @classmethod
    def of(cls, bound: MistakeBound, examples: int) -> Self:
        """Describe a bound; JSON has no infinity."""
        return cls(
            updates=_finite(bound.updates),
            radius=bound.radius,
            margin=_finite(bound.margin),
            examples=examples,
            reason=bound.reason,
        )


class Counts(Answered):
    """The counts of a model since it was created, as of its last commit; parts that are on add their own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]

    predictions: int
    labelled: int
    """Predictions whose truth became known."""
    mistakes: int
    updates: int
    rejected: int
    """Messages sent to the dead letters."""
    pending_labels: int
    """Predictions that wait for their label."""


class ModelDescription(Answered):
    """A partition's model."""

    partition: int = Field(ge=0)
    kind: str
    """Its class, or the steps of its pipeline."""
    parameters: dict[str, Any]
    classes: list[LabelValue]
    """As answers spell them; of two the negative one first."""
    counts: Counts
    weights: list[Weight] | None
    """The largest first; null of a model without weights."""
    weights_nonzero: int | None
    weight_norm: float | None
    """Euclidean, without the bias."""
    bias: float | dict[str, float] | None
    """Of several classes one each."""
    bound: Bound | None
    """Null of a model that the theorem is not about."""


class DecisionMetrics(Answered):
    """What came, or would have come, of a decision; null where it is not known."""

    class_: LabelValue = Field(alias="class")
    """The class that it is about."""
    threshold: float | None
    """The least score or probability; null while none is known."""
    precision: float | None
    """Share of decided events of the class, of those labelled."""
    recall: float | None
    """Share of the events of the class that were decided."""
    false_positive_rate: float | None
    """Share of the other events that were decided."""


class DecisionTaken(DecisionMetrics):
    """A decision since the beginning."""

    name: str
    goal: str
    """As the settings have it: `min_precision = 0.95`."""
    decided: int = Field(ge=0)
    """Predictions with it."""
    labelled: int = Field(ge=0)
    """Of these, those whose label is known."""
    undecided: str | None
    """Why there is no threshold."""
    exhausted: bool
    """Whether the `max_rate` of the present period is spent."""


class ThresholdRow(DecisionMetrics):
    """What a threshold would have come to on recent labels."""

    decided_per_day: float | None
    """In event time."""


class DecisionsDescription(Answered):
    """A partition's decisions."""

    partition: int = Field(ge=0)
    decisions: list[DecisionTaken]
    thresholds: list[ThresholdRow]
    """By class, the lowest first."""


def _finite(value: float) -> float | None:
    return value if value - value == 0 else None


def json_response(fields: Mapping[str, Any], status: int = HTTPStatus.OK) -> Response:
    """Return an answer of these fields, written as Pydantic writes those of a model."""
    return Response(to_json(fields, inf_nan_mode="null"), status, media_type="application/json")


def problem_response(
    status: int,
    what: str,
    where: str,
    hint: str = "",
    *,
    reason: str | None = None,
    partition: int | None = None,
    **headers: str,
) -> Response:
    """Make the answer to a request that cannot be answered."""
    problem = Problem(what=what, where=where, hint=hint, reason=reason, partition=partition)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, status, named, media_type="application/json")


def documented(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe answers of these statuses, for the OpenAPI document."""
    return {int(status): {"model": Problem, "description": status.phrase} for status in statuses}


def problem_of(request: Request, error: Exception) -> Response:
    """Return the answer to a request that ends with an error; the server logs unexpected ones."""
    if isinstance(error, Rejection):
        kind = "label" if request.url.path == "/labels" else "event"
        hint = f"`perceptron schema {kind}` shows the expected fields; the settings `{kind}s.*` map others"
        return problem_response(_UNREADABLE, error.message, kind, hint, reason=error.reason)
    if isinstance(error, ServiceError):
        return _of_service_error(request, error)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = " ".join(map(str, first["loc"][:2]))  # what follows are the types that Pydantic tried
        return problem_response(
            _UNREADABLE, pydantic_sentence(first, "parameter"), where, "/docs describes each parameter"
        )
    place = f"{request.method} {request.url.path}"
    if isinstance(error, HTTPException):
        response = problem_response(error.status_code, error.detail, place, _HINTS.get(error.status_code, ""))
        response.headers.update(error.headers or {})
        return response
    what = f"the service failed: {type(error).__name__}"
    hint = "please report it, with the service's log"
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, what, place, hint)


ERROR_HANDLERS: Final[Mapping[Any, Any]] = dict.fromkeys(
    (Rejection, ServiceError, RequestValidationError, HTTPException, Exception), problem_of
)
"""Of every error that an endpoint may raise."""


def _of_service_error(request: Request, error: ServiceError) -> Response:
    status = _STATUSES.get(type(error), HTTPStatus.SERVICE_UNAVAILABLE)
    if isinstance(error, NoSuchModel) and "partition" in request.query_params:
        status = HTTPStatus.NOT_FOUND
    is_about_partition = isinstance(error, (NoSuchModel, ModelBusy, PartitionElsewhere))
    where = "partition" if is_about_partition else f"{request.method} {request.url.path}"
    partition = error.partition if isinstance(error, PartitionElsewhere) else None
    headers = {"Retry_After": SOON_SECONDS} if status in RETRYABLE else {}
    return problem_response(status, str(error), where, error.hint, partition=partition, **headers)


def line_problems(request: Request) -> Callable[[int, Exception], dict[str, Any]]:
    """Return what describes the problem of a line: its number, its status, and the fields of that answer."""
    known: dict[int, tuple[Exception, dict[str, Any]]] = {}
    """By identity: what the stream refuses it refuses for many lines."""

    def fields(number: int, error: Exception) -> dict[str, Any]:
        if id(error) not in known:
            answer = problem_of(request, error)
            known[id(error)] = error, {"status": answer.status_code, **json.loads(bytes(answer.body))}
        return {"line": number, **known[id(error)][1]}

    return fields
