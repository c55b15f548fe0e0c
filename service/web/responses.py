"""Models of the responses for the OpenAPI document, and responses to errors.

Events and predictions have the schema of the stream (`service.messages.schema`). For speed, responses to
events and labels are written without a model instance, but in the same form. A `Problem` has what, where and
hint.
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
from service.models.explanation import FeatureContribution, Method

_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "/docs lists all endpoints",
    HTTPStatus.METHOD_NOT_ALLOWED: "/docs describes each endpoint",
}
SOON_SECONDS: Final = "1"


class UnsupportedBody(ServiceError):
    """A body in a form that the endpoint does not read."""


_STATUSES: Final[Mapping[type[ServiceError], HTTPStatus]] = {
    IdTaken: HTTPStatus.CONFLICT,
    MessageTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    PartitionElsewhere: HTTPStatus.MISDIRECTED_REQUEST,
    TooManyWaiting: HTTPStatus.TOO_MANY_REQUESTS,
    UnsupportedBody: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
_UNREADABLE: Final = HTTPStatus.UNPROCESSABLE_ENTITY
RETRYABLE_STATUSES: Final = frozenset({HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS})


class ResponseModel(BaseModel):
    """Base of all responses: fields that are not described are forbidden."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class WhatIsWrong(ResponseModel):
    """What is wrong with a request, or with a line of its body."""

    what: str
    """What is wrong."""
    where: str
    """In which part of the request, or of the service."""
    hint: str = ""
    """What to do about it."""
    reason: str | None = None
    """For an event or a label: the `error.reason` that its dead letter would have."""
    partition: int | None = None
    """For an event or a label of another process: its partition."""


class LineProblem(WhatIsWrong):
    """Why a line of a body has no prediction, or not acknowledged."""

    line: int = Field(ge=1)
    """Number of the line in the body."""
    status: int
    """Status that a request with only this line would get."""


class LinesAppended(ResponseModel):
    """The result of each line of a body: it is acknowledged or has a problem."""

    lines: int = Field(ge=0)
    """Number of lines, including empty ones."""
    acknowledged: int = Field(ge=0)
    """Number of lines that are durable on the topic."""
    repeated: int = Field(ge=0)
    """Number of acknowledged lines that had been appended before."""
    problems: list[LineProblem]
    """Problems of all other lines, in order."""


class Problem(WhatIsWrong):
    """Why a request failed."""

    lines: LinesAppended | None = None
    """For an NDJSON body with unacknowledged lines; the other fields are about one of these lines."""


class LivePrediction(Assessment):
    """A prediction by the model of an open partition."""

    partition: int = Field(ge=0)
    """Partition of the model that predicted."""
    owned: bool
    """Whether an event with this id as its key goes to this partition. If not, another model, perhaps in
    another process, predicts such events."""


class Appended(ResponseModel):
    """The position of an appended event or label."""

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


class Expert(ResponseModel):
    """An expert of a mixture."""

    name: str
    weight: float
    """Weight of its log-odds in the prediction of the leader."""
    mistakes: int
    """Number of its mistakes."""
    recent_mistakes: float
    """Number of its mistakes, older ones discounted."""
    recent_labels: float
    """Number of labels that it was evaluated on, discounted in the same way."""


class Explanation(LivePrediction):
    """A prediction, and which features decided."""

    method: Method
    """`weights`: contributions and bias add up to the score (with several classes, of the predicted class).
    `mixture`: they add up to the log-odds of a mixture of experts. `leaving_out`: a contribution is how far
    the score falls without the feature; contributions do not add up."""
    bias: float | None
    contributions: list[FeatureContribution]
    """Sorted by absolute value, the largest first."""
    features_not_examined: int = Field(ge=0)
    """Number of features, those with the smallest values, that were not left out one by one."""
    leader: str | None
    """For a mixture: the mixture or expert that made the prediction."""
    experts: list[Expert]
    """For a mixture: its experts, the largest weight first."""


class Weight(ResponseModel):
    """One weight."""

    name: str
    """Name of the feature; with several classes, `class: feature`."""
    weight: float


class Bound(ResponseModel):
    """The perceptron's mistake bound (R/γ)² on the latest examples, which the model separates."""

    updates: float | None
    """The bound (R/γ)²; null while no separator is known."""
    radius: float
    """R, the largest norm of an example."""
    margin: float | None
    """γ, the smallest margin of an example."""
    examples: int
    """Number of examples since the model's last update."""
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


class Counts(ResponseModel):
    """Counts of a model since it was created, as of its last commit; active parts add their own counts."""

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


class ModelDescription(ResponseModel):
    """A partition's model."""

    partition: int = Field(ge=0)
    kind: str
    """Its class, or the steps of its pipeline."""
    parameters: dict[str, Any]
    classes: list[LabelValue]
    """Classes as predictions spell them; of two classes, the negative one is first."""
    counts: Counts
    weights: list[Weight] | None
    """The largest weights first; null if the model has no weights."""
    weights_nonzero: int | None
    weight_norm: float | None
    """Euclidean norm of the weights, without the bias."""
    bias: float | dict[str, float] | None
    """With several classes, the bias of each class."""
    bound: Bound | None
    """Null if the theorem does not apply to the model."""


class DecisionMetrics(ResponseModel):
    """Results that a decision had, or would have had; null if unknown."""

    class_: LabelValue = Field(alias="class")
    """Class of the decision."""
    threshold: float | None
    """Lowest score or probability for the decision; null while there is none."""
    precision: float | None
    """Share of the labelled decided events that are of the class."""
    recall: float | None
    """Share of the events of the class that were decided."""
    false_positive_rate: float | None
    """Share of the other events that were decided."""


class DecisionTaken(DecisionMetrics):
    """A decision since the beginning."""

    name: str
    goal: str
    """The goal as in the settings: `min_precision = 0.95`."""
    decided: int = Field(ge=0)
    """Number of predictions with the decision."""
    labelled: int = Field(ge=0)
    """Number of these predictions whose label is known."""
    undecided: str | None
    """Why there is no threshold."""
    exhausted: bool
    """Whether the `max_rate` of the present period is spent."""


class ThresholdRow(DecisionMetrics):
    """Results that a threshold would have had on recent labels."""

    decided_per_day: float | None
    """Mean number of decided events in a day of event time."""


class DecisionsDescription(ResponseModel):
    """A partition's decisions."""

    partition: int = Field(ge=0)
    decisions: list[DecisionTaken]
    thresholds: list[ThresholdRow]
    """Thresholds by class, the lowest first."""


def _finite(value: float) -> float | None:
    return value if value - value == 0 else None


def json_response(fields: Mapping[str, Any], status: int = HTTPStatus.OK) -> Response:
    """Return a response with these fields, written in the form in which Pydantic writes a model."""
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
    """Make the response to a request that failed."""
    problem = Problem(what=what, where=where, hint=hint, reason=reason, partition=partition)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, status, named, media_type="application/json")


def documented(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe responses of these statuses, for the OpenAPI document."""
    return {int(status): {"model": Problem, "description": status.phrase} for status in statuses}


BODY_READ: Final = documented(
    HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE
)
"""Responses of every endpoint that reads a body."""


def problem_of(request: Request, error: Exception) -> Response:
    """Return the response to a request that ends with an error; the server logs unexpected ones."""
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
    location = f"{request.method} {request.url.path}"
    if isinstance(error, HTTPException):
        headers = error.headers or {}
        ours: Mapping[int, str] = {
            HTTPStatus.NOT_FOUND: "unknown endpoint",
            HTTPStatus.METHOD_NOT_ALLOWED: f"expected {headers.get('Allow')}, got {request.method}",
        }
        status, what = error.status_code, ours.get(error.status_code, error.detail)
        response = problem_response(status, what, location, _HINTS.get(status, ""))
        response.headers.update(headers)
        return response
    what = f"the service failed: {type(error).__name__}"
    hint = "please report it, with the service's log"
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, what, location, hint)


ERROR_HANDLERS: Final[Mapping[Any, Any]] = dict.fromkeys(
    (Rejection, ServiceError, RequestValidationError, HTTPException, Exception), problem_of
)
"""Handlers of every error that an endpoint may raise."""


def _of_service_error(request: Request, error: ServiceError) -> Response:
    status = _STATUSES.get(type(error), HTTPStatus.SERVICE_UNAVAILABLE)
    if isinstance(error, NoSuchModel) and "partition" in request.query_params:
        status = HTTPStatus.NOT_FOUND
    is_about_partition = isinstance(error, (NoSuchModel, ModelBusy, PartitionElsewhere))
    where = "partition" if is_about_partition else f"{request.method} {request.url.path}"
    partition = error.partition if isinstance(error, PartitionElsewhere) else None
    headers = {"Retry_After": SOON_SECONDS} if status in RETRYABLE_STATUSES else {}
    return problem_response(status, str(error), where, error.hint, partition=partition, **headers)


def line_problems(request: Request) -> Callable[[int, Exception], dict[str, Any]]:
    """Return a function that describes the problem of a line: its number, its status, and its fields."""
    known: dict[int, tuple[Exception, dict[str, Any]]] = {}
    """Fields by the identity of the error: many lines may share one error of the stream."""

    def fields(number: int, error: Exception) -> dict[str, Any]:
        if id(error) not in known:
            response = problem_of(request, error)
            known[id(error)] = error, {"status": response.status_code, **json.loads(bytes(response.body))}
        return {"line": number, **known[id(error)][1]}

    return fields
