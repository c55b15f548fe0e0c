"""The endpoints that append events and labels to their topics, and return committed predictions.

A request may be repeated without harm: `service.intake` appends each id once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BeforeValidator, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from typing_extensions import TypedDict

from service.errors import AppendUnsure, NoSuchModel, PartitionElsewhere
from service.formats.topics import KINDS
from service.intake.partition import PartitionIntake
from service.intake.submissions import Submission, SubmissionReader, Ticket
from service.messages.labels import LabelValue, Vocabulary
from service.messages.rejection import Rejection
from service.messages.schema import MAX_ID_LENGTH, Event, Label
from service.monitoring.health import Health, State
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.settings.mapping import LabelSettings
from service.stream.partitioner import partition_for_key
from service.web.api import BODY_READ, READ_AT_ONCE_BYTES, only_described
from service.web.bodies import JSON, body_of, has_lines, with_lines
from service.web.direct import DirectRoute
from service.web.lines import Read, append_lines
from service.web.problems import LinesAppended, UnsupportedBody, documented, problem_response
from service.web.responses import Appended, CommittedPrediction, json_response

WAIT_SECONDS: Final = 10.0
MOST_WAITED_SECONDS: Final = 60.0
_PREDICTION_FIELDS: Final = tuple(CommittedPrediction.model_fields)
_PATIENCE_SECONDS: Final = 10.0
"""How long an append may take: longer than the loop takes to get ready for the first one."""
_ELSEWHERE: Final = (
    "send it to the other processes of the group, until one takes it, or write it to the topic"
)
_NOT_AWAITED: Final = "of lines no prediction is awaited: they are on their topic"
_OCTETS: Final = "application/octet-stream"
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")

_REFUSED = BODY_READ | documented(
    HTTPStatus.CONFLICT,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_IN_DOUBT: Final[dict[int | str, dict[str, Any]]] = {
    int(HTTPStatus.ACCEPTED): {
        "model": Appended,
        "description": "On its topic; no prediction was committed in time, or it is not kept any more.",
    }
}


def _as_written(text: object) -> object:
    """Refuse a number that JSON does not write so: Pydantic would read ` 1` and `1_0` as well."""
    if isinstance(text, str) and not _NUMBER.fullmatch(text):
        raise ValueError("it is no number")
    return text


Wait = Annotated[
    float,
    Field(ge=0, le=MOST_WAITED_SECONDS, allow_inf_nan=False),
    BeforeValidator(_as_written),
    Query(description="Seconds to wait for the prediction; then 202 says where the event is."),
]
Key = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=MAX_ID_LENGTH,
        description="Key of the record, which chooses its partition. Default: the id. An event and its "
        "label need the same.",
    ),
]


class _Keyed(TypedDict, total=False):
    """The parameters of a label."""

    key: Key


class _Awaited(_Keyed, total=False):
    """The parameters of an event."""

    wait_seconds: Wait


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where submissions go: the intakes of this process.

    Parameters
    ----------
    metrics, live, health
        How far the partitions are behind, their intakes, and the state of the process.
    settings
        Say how messages are written, and how many may wait to be processed.
    reader
        Reads messages.
    turn
        Of the body whose lines are appended next.

    """

    metrics: Metrics
    live: LiveModels
    health: Health
    settings: Settings
    reader: SubmissionReader
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def append_event(
        self, body: bytes, headers: Headers, wait_seconds: float = WAIT_SECONDS, key: str | None = None
    ) -> Response:
        """Append an event; answer with its prediction if that is committed in time, else with its place."""
        began = monotonic()
        given = body, _encoded(key), headers
        if len(body) > READ_AT_ONCE_BYTES:
            ticket, partition = self._submit(await run_in_threadpool(self.reader.event, *given))
        else:
            ticket, partition = self._submit(self.reader.event(*given))
        await _wait_for_append(ticket)
        prediction = None
        if await _is_done(ticket.answered, wait_seconds - (monotonic() - began)):
            try:
                prediction = ticket.answered.result()
            except Rejection as rejection:
                return _of_dead_letter(rejection)
        if prediction is None:
            return _place_of(ticket, partition, HTTPStatus.ACCEPTED)
        fields = {**prediction, "partition": partition, "repeated": ticket.repeated}
        return json_response({name: fields[name] for name in _PREDICTION_FIELDS if name in fields})

    async def append_label(self, body: bytes, headers: Headers, key: str | None = None) -> Response:
        """Append a label; answer with its place."""
        ticket, partition = self._submit(self.reader.label(body, _encoded(key), headers))
        await _wait_for_append(ticket)
        return _place_of(ticket, partition)

    async def append_lines(self, request: Request, read: Read, key: str | None) -> Response:
        """Append the lines of a body; answer with how many are durable, and with why the others are not."""
        return await append_lines(self, request, read, _encoded(key), _PATIENCE_SECONDS)

    def _submit(self, submission: Submission) -> tuple[Ticket, int]:
        partition = self.partition_of(submission)
        return self.intake(partition).submit(submission), partition

    def partition_of(self, submission: Submission) -> int:
        """Return the partition that a submission goes to; 0 while it is not known how many there are."""
        n_partitions = self.live.n_partitions
        return partition_for_key(submission.output.key, n_partitions) if n_partitions else 0

    def intake(self, partition: int) -> PartitionIntake:
        """Return the intake of a partition, if it is here and not too far behind. Raises `ServiceError`."""
        if not self.live.n_partitions:
            if self.health.state is State.READY:
                raise NoSuchModel("this process stands by: others have all partitions", hint=_ELSEWHERE)
            raise NoSuchModel("no partition is served yet", hint="/readyz shows the state")
        intake = self._served(partition)
        if (behind := intake.behind(self._lag(partition), self.settings.http_max_lag)) is not None:
            raise behind
        return intake

    def n_waiting(self) -> int:
        """Count the records that wait to be processed, of the partition here that has most of them."""
        intakes = self.live.intakes.all()
        return max((max(each.n_open, self._lag(each.partition)) for each in [*intakes]), default=0)

    def _lag(self, partition: int) -> int:
        return sum(count for (_, each), count in dict(self.metrics.lag).items() if each == partition)

    def _served(self, partition: int) -> PartitionIntake:
        intake = self.live.intakes.get(partition)
        if intake is not None:
            return intake
        if self.health.state is State.READY:
            raise PartitionElsewhere(
                f"partition {partition} is served by another process of the group",
                hint=_ELSEWHERE,
                partition=partition,
            )
        raise NoSuchModel(f"partition {partition} is not served yet", hint="/readyz shows the state")


def add_inputs(app: FastAPI, inputs: Inputs) -> dict[str, DirectRoute]:
    """Add the endpoints that append to the topics; return their common forms, by path."""
    events, labels = inputs.settings.events, inputs.settings.labels
    values = Vocabulary(inputs.settings.classes).values
    api = APIRouter(tags=["input"], dependencies=[Depends(only_described)])
    _add_events(api, inputs, _takes(events, Event, [*values, None]))
    _add_labels(api, inputs, _takes(labels, Label, values))
    app.include_router(api)
    common = {
        "/events": (events, DirectRoute(_media_type_of(events), _Awaited, inputs.append_event)),
        "/labels": (labels, DirectRoute(_media_type_of(labels), _Keyed, inputs.append_label)),
    }
    return {path: route for path, (table, route) in common.items() if table.format not in KINDS}


def _add_events(api: APIRouter, inputs: Inputs, takes: dict[str, Any]) -> None:
    @api.post(
        "/events",
        responses=_REFUSED | _IN_DOUBT,
        openapi_extra=takes,
        response_model=CommittedPrediction | LinesAppended,
    )
    async def append_event(request: Request, wait_seconds: Wait = WAIT_SECONDS, key: Key = None) -> Response:
        """Append an event to the events topic; answer with its prediction, once that is committed.

        To repeat it is safe: the same event under the same id is not appended again. Of an NDJSON body, the
        lines are appended; the answer says how many are durable, and what is wrong with each of the others.
        """
        if _takes_lines(inputs.settings.events) and has_lines(request):
            if "wait_seconds" in request.query_params:
                raise RequestValidationError([{"loc": ("query", "wait_seconds"), "msg": _NOT_AWAITED}])
            return await inputs.append_lines(request, inputs.reader.event, key)
        body = await _record_of(request, inputs.settings.events)
        return await inputs.append_event(body, request.headers, wait_seconds, key)


def _add_labels(api: APIRouter, inputs: Inputs, takes: dict[str, Any]) -> None:
    @api.post("/labels", responses=_REFUSED, openapi_extra=takes, response_model=Appended | LinesAppended)
    async def append_label(request: Request, key: Key = None) -> Response:
        """Append a label to the labels topic; answer when it is durable there.

        To repeat it is safe: the same label of the same id is not appended again. Another label of the same
        id corrects the first. An NDJSON body is taken as by `POST /events`.
        """
        if _takes_lines(inputs.settings.labels) and has_lines(request):
            return await inputs.append_lines(request, inputs.reader.label, key)
        body = await _record_of(request, inputs.settings.labels)
        return await inputs.append_label(body, request.headers, key)


async def _record_of(request: Request, table: LabelSettings) -> bytes:
    """Return the body of a request as a record of a topic, whose format is one that needs no schemas."""
    if table.format in KINDS:
        raise UnsupportedBody(
            f"{table.table()}.format is {table.format}: records with schemas are taken from the topic alone",
            "write the record to the topic, with a producer that knows its schema",
        )
    return await body_of(request, _media_type_of(table))


def _takes_lines(table: LabelSettings) -> bool:
    """Return whether several records may be in one body."""
    return table.format == "json"


def _media_type_of(table: LabelSettings) -> str:
    """Return the media type of the records of a topic: web pages of others may not send any of the two."""
    return JSON if table.format == "json" else _OCTETS


def _takes(
    table: LabelSettings, message: type[Event | Label], labels: Sequence[LabelValue | None]
) -> dict[str, Any]:
    """Describe the body: a record of the topic; if that has no other schema, a message and its labels."""
    schema: dict[str, Any] = {"description": f"A record as the settings {table.table()}.* describe it."}
    if not table.is_mapped:
        schema = message.model_json_schema()
        schema["properties"]["label"] |= {"enum": labels}
    takes = {"requestBody": {"required": True, "content": {_media_type_of(table): {"schema": schema}}}}
    return with_lines(takes, "Such a record a line") if _takes_lines(table) else takes


def _encoded(key: str | None) -> bytes | None:
    return None if key is None else key.encode()


async def _wait_for_append(ticket: Ticket) -> None:
    if not await _is_done(ticket.appended, _PATIENCE_SECONDS):
        raise AppendUnsure(
            f"it was not appended within {_PATIENCE_SECONDS:g} s; it may be yet",
            hint="send it again: the id keeps it from being appended twice",
        )
    ticket.appended.result()


async def _is_done(future: Future[Any], seconds: float) -> bool:
    """Wait for a future, which others may wait for as well."""
    if not future.done():
        waiting = asyncio.wrap_future(future)
        await asyncio.wait({waiting}, timeout=max(0.0, seconds))
        waiting.cancel()
    return future.done()


def _place_of(ticket: Ticket, partition: int, status: int = HTTPStatus.OK) -> Response:
    submission = ticket.submission
    topic = submission.output.topic
    fields = {"id": submission.id, "topic": topic, "partition": partition, "repeated": ticket.repeated}
    return json_response(fields, status)


def _of_dead_letter(rejection: Rejection) -> Response:
    hint = "it was appended and became a dead letter: `perceptron dead-letters list` shows it"
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return problem_response(status, rejection.message, "event", hint, reason=rejection.reason)
