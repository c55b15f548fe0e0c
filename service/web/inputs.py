"""The endpoints that append events and labels to their topics, and return committed predictions.

A request may be repeated without harm: `service.intake` appends each id once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from pydantic import BeforeValidator, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from typing_extensions import TypedDict

from service.errors import AppendUnsure, NoSuchModel, PartitionElsewhere, TooFarBehind
from service.formats.schema_readers import KINDS
from service.intake.partition import PartitionIntake
from service.intake.submissions import Submission, SubmissionReader
from service.intake.tickets import Ticket
from service.messages.labels import LabelValue, Vocabulary
from service.messages.rejection import Rejection
from service.messages.schema import MAX_ID_LENGTH, Event, Label
from service.monitoring.health import Health, State
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.partitioner import partition_for_key
from service.settings.load import Settings
from service.settings.mapping import LabelSettings
from service.web.api import BODY_READ, JSON, READ_AT_ONCE_BYTES, body_of, only_described
from service.web.direct import DirectRoute
from service.web.problems import UnsupportedBody, documented, problem_response
from service.web.responses import Appended, CommittedPrediction, json_response

WAIT_SECONDS: Final = 10.0
MOST_WAITED_SECONDS: Final = 60.0
_PREDICTION_FIELDS: Final = tuple(CommittedPrediction.model_fields)
_PATIENCE_SECONDS: Final = 10.0
"""How long an append may take: longer than the loop takes to get ready for the first one."""
_ELSEWHERE: Final = (
    "send it to the other processes of the group, until one takes it, or write it to the topic"
)
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

    """

    metrics: Metrics
    live: LiveModels
    health: Health
    settings: Settings
    reader: SubmissionReader

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

    def _submit(self, submission: Submission) -> tuple[Ticket, int]:
        n_partitions = self.live.n_partitions
        if not n_partitions:
            if self.health.state is State.READY:
                raise NoSuchModel("this process stands by: others have all partitions", hint=_ELSEWHERE)
            raise NoSuchModel("no partition is served yet", hint="/readyz shows the state")
        partition = partition_for_key(submission.output.key, n_partitions)
        intake = self._intake(partition)
        self._check_lag(intake)
        return intake.submit(submission), partition

    def _intake(self, partition: int) -> PartitionIntake:
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

    def _check_lag(self, intake: PartitionIntake) -> None:
        lag = dict(self.metrics.lag)
        waiting = sum(count for (_, partition), count in lag.items() if partition == intake.partition)
        if max(waiting, intake.n_open) >= self.settings.http_max_lag:
            raise TooFarBehind(
                f"partition {intake.partition}: {max(waiting, intake.n_open)} records wait to be processed",
                hint="send it again later; http_max_lag is the limit",
            )


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
        response_model=CommittedPrediction,
    )
    async def append_event(request: Request, wait_seconds: Wait = WAIT_SECONDS, key: Key = None) -> Response:
        """Append an event to the events topic; answer with its prediction, once that is committed.

        To repeat it is safe: the same event under the same id is not appended again.
        """
        body = await _record_of(request, inputs.settings.events)
        return await inputs.append_event(body, request.headers, wait_seconds, key)


def _add_labels(api: APIRouter, inputs: Inputs, takes: dict[str, Any]) -> None:
    @api.post("/labels", responses=_REFUSED, openapi_extra=takes, response_model=Appended)
    async def append_label(request: Request, key: Key = None) -> Response:
        """Append a label to the labels topic; answer when it is durable there.

        To repeat it is safe: the same label of the same id is not appended again. Another label of the same
        id corrects the first.
        """
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
    return {"requestBody": {"required": True, "content": {_media_type_of(table): {"schema": schema}}}}


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
