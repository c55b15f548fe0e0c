"""The endpoints that append events and labels to their topics, and return committed predictions.

A request may be repeated without harm: `service.intake` appends each id once. Each line of a body is appended
like a separate request.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from service.errors import AppendUnsure, NoSuchModel, PartitionElsewhere, ServiceError
from service.intake.partition import PartitionIntake
from service.intake.submissions import SEND_AGAIN, Submission, SubmissionReader, Ticket
from service.messages.labels import LabelValue, Vocabulary
from service.messages.rejection import Rejection
from service.messages.schema import MAX_ID_LENGTH, Event, Label
from service.monitoring.health import Health, State
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.settings.mapping import LabelSettings
from service.stream.partitioner import partition_for_key
from service.web.requests import (
    JSON,
    NDJSON,
    READ_AT_ONCE_BYTES,
    Parameters,
    body_of,
    described_body,
    described_lines,
    lines_of,
    media_type_of,
)
from service.web.responses import (
    BODY_READ,
    RETRYABLE_STATUSES,
    SOON_SECONDS,
    Appended,
    CommittedPrediction,
    LinesAppended,
    UnsupportedBody,
    documented,
    json_response,
    line_problems,
    problem_response,
)

_WAIT_SECONDS: Final = 10.0
_MAX_WAITED_SECONDS: Final = 60.0
_PREDICTION_FIELDS: Final = tuple(CommittedPrediction.model_fields)
_PATIENCE_SECONDS: Final = 10.0
"""Longest time of an append: longer than the loop takes to prepare the first append."""
_UNSURE: Final = f"it was not appended within {_PATIENCE_SECONDS:g} s; it may be yet"
_ELSEWHERE: Final = "send it to another process of the group, or write it to the topic"
_NOT_AWAITED: Final = "wait_seconds needs a single event, got lines"

_REJECTED = BODY_READ | documented(
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


class _LabelParameters(Parameters):
    key: str | None = Field(None, min_length=1, max_length=MAX_ID_LENGTH)
    """Key of the record, which chooses its partition (default: the id)."""

    @property
    def encoded_key(self) -> bytes | None:
        """The key of the record in bytes."""
        return None if self.key is None else self.key.encode()


class _EventParameters(_LabelParameters):
    wait_seconds: float = Field(_WAIT_SECONDS, ge=0, le=_MAX_WAITED_SECONDS, allow_inf_nan=False)
    """Seconds to wait for the prediction; after that, the response is 202 with the position of the event."""


Read = Callable[[bytes, bytes | None], Submission]
"""Reads a record. Raises `Rejection`."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The endpoints that submit events and labels to the intakes of this process.

    Parameters
    ----------
    metrics, live, health
        The lag of the partitions, their intakes, and the state of the process.
    settings
        The settings, with the form of messages and the largest lag.
    reader
        Reads messages.
    turn
        Lock of the body whose lines are being appended.

    """

    metrics: Metrics
    live: LiveModels
    health: Health
    settings: Settings
    reader: SubmissionReader
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def router(self) -> APIRouter:
        """Return the endpoints that append to the topics."""
        events, labels = self.settings.events, self.settings.labels
        values = Vocabulary(self.settings.classes).values
        api = APIRouter(tags=["input"])
        api.post(
            "/events",
            responses=_REJECTED | _IN_DOUBT,
            openapi_extra=_described(events, Event, [*values, None]),
            response_model=CommittedPrediction | LinesAppended,
        )(self.append_event)
        api.post(
            "/labels",
            responses=_REJECTED,
            openapi_extra=_described(labels, Label, values),
            response_model=Appended | LinesAppended,
        )(self.append_label)
        return api

    async def append_event(self, request: Request, query: Annotated[_EventParameters, Query()]) -> Response:
        """Append an event to the events topic; return its prediction, once it is committed.

        A request may be repeated safely: the same event under the same id is not appended again. Each line of
        an NDJSON body is appended; the response has the number of durable lines, and the problem of each
        other line.
        """
        if _has_lines(request, self.settings.events):
            if "wait_seconds" in query.model_fields_set:
                raise RequestValidationError([{"loc": ("query", "wait_seconds"), "msg": _NOT_AWAITED}])
            return await self._append_lines(request, self.reader.event, query)
        started = monotonic()
        ticket, partition = await self._append(request, self.reader.event, query)
        assert ticket.result is not None, "send a single event, or omit wait_seconds"
        if await _is_done(ticket.result, query.wait_seconds - (monotonic() - started)):
            result = ticket.result.result()
            if isinstance(result, Rejection):
                return _of_dead_letter(result)
            if result is not None:
                fields = {**result, "partition": partition, "repeated": ticket.repeated}
                return json_response({name: fields[name] for name in _PREDICTION_FIELDS if name in fields})
        return _appended_at(ticket, partition, HTTPStatus.ACCEPTED)

    async def append_label(self, request: Request, query: Annotated[_LabelParameters, Query()]) -> Response:
        """Append a label to the labels topic; respond when it is durable there.

        A request may be repeated safely: the same label of the same id is not appended again. Another label
        of the same id corrects the first. An NDJSON body is read as by `POST /events`.
        """
        if _has_lines(request, self.settings.labels):
            return await self._append_lines(request, self.reader.label, query)
        return _appended_at(*await self._append(request, self.reader.label, query))

    async def _append(self, request: Request, read: Read, query: _LabelParameters) -> tuple[Ticket, int]:
        """Append a record; return its ticket and its partition once it is durable."""
        record = await body_of(request), query.encoded_key
        at_once = self.reader.is_plain and len(record[0]) <= READ_AT_ONCE_BYTES
        submission = read(*record) if at_once else await run_in_threadpool(read, *record)
        partition = self._partition_of(submission)
        ticket = Ticket(submission)
        self._intake(partition).submit([ticket], self.settings.http_max_lag)
        if not await _is_done(ticket.appended, _PATIENCE_SECONDS):
            raise AppendUnsure(_UNSURE, hint=SEND_AGAIN)
        if (error := ticket.appended.result()) is not None:
            raise error
        return ticket, partition

    async def _append_lines(self, request: Request, read: Read, query: _LabelParameters) -> Response:
        """Append the lines of a body; return the number of durable lines, and the other lines' problems.

        Bodies take turns, so that the lines of only one body are in memory.
        """
        lines = await lines_of(request)
        async with self.turn:
            decided = await run_in_threadpool(self._submit_lines, lines, read, query.encoded_key)
        deadline = monotonic() + _PATIENCE_SECONDS
        for line in decided:
            if isinstance(line, Ticket) and not await _is_done(line.appended, deadline - monotonic()):
                break
        return await run_in_threadpool(_respond_to_lines, request, decided)

    def _submit_lines(
        self, lines: Sequence[bytes], read: Read, key: bytes | None
    ) -> Sequence[Ticket | Rejection]:
        """Submit the lines that can be read; return a ticket or a problem of each."""
        decided: list[Ticket | Rejection] = []
        by_partition: defaultdict[int, list[Ticket]] = defaultdict(list)
        for line in lines:
            try:
                ticket = Ticket(read(line, key), is_line=True)
            except Rejection as rejection:
                decided.append(rejection)
                continue
            decided.append(ticket)
            by_partition[self._partition_of(ticket.submission)].append(ticket)
        for partition, tickets in by_partition.items():
            try:
                intake = self._intake(partition)
            except ServiceError as error:
                for ticket in tickets:
                    ticket.note_appended(error)
            else:
                intake.submit(tickets, self.settings.http_max_lag)
        return decided

    def _partition_of(self, submission: Submission) -> int:
        """Return the partition that a submission goes to; 0 while it is not known how many there are."""
        n_partitions = self.live.n_partitions
        return partition_for_key(submission.output.key, n_partitions) if n_partitions else 0

    def _intake(self, partition: int) -> PartitionIntake:
        """Return the intake of a partition. Raises `ServiceError` if it is elsewhere or lags too much."""
        n_partitions, intake = self.live.n_partitions, self.live.intakes.get(partition)
        if intake is not None and n_partitions:
            waiting, limit = self.metrics.lag_of(partition) or 0, self.settings.http_max_lag
            if (error := intake.backlog_error(waiting, limit)) is not None:
                raise error
            return intake
        if self.health.state is not State.READY:
            raise NoSuchModel(f"partition {partition} is not served yet", hint="/readyz shows the state")
        if not (n_partitions and self.live.intakes):
            raise NoSuchModel("this process owns no partition", hint=_ELSEWHERE)
        what = f"partition {partition} is served by another process of the group"
        raise PartitionElsewhere(what, hint=_ELSEWHERE, partition=partition)


def _has_lines(request: Request, table: LabelSettings) -> bool:
    """Return whether a body has several records. Raises `UnsupportedBody` where records are not JSON."""
    if table.format != "json":
        raise UnsupportedBody(
            f"{table.table()}.format is {table.format}: HTTP accepts only JSON records",
            hint="write the record to the topic",
        )
    return media_type_of(request) == NDJSON


def _described(
    table: LabelSettings, message: type[Event | Label], labels: Sequence[LabelValue | None]
) -> dict[str, Any]:
    """Describe the body: a record of the topic, or a message in the native schema if none is mapped."""
    schema: dict[str, Any] = {"description": f"A record as the settings {table.table()}.* describe it."}
    if not table.is_mapped:
        schema = message.model_json_schema()
        schema["properties"]["label"] |= {"enum": labels}
    return described_body({JSON: schema, **described_lines("Such a record a line")})


async def _is_done(future: Future[Any], seconds: float) -> bool:
    """Wait for a future without cancelling it: other requests may wait for it too."""
    if not future.done():
        waiting = asyncio.wrap_future(future)
        await asyncio.wait({waiting}, timeout=max(0.0, seconds))
        waiting.cancel()
    return future.done()


def _appended_at(ticket: Ticket, partition: int, status: int = HTTPStatus.OK) -> Response:
    submission = ticket.submission
    topic = submission.output.topic
    fields = {"id": submission.id, "topic": topic, "partition": partition, "repeated": ticket.repeated}
    return json_response(fields, status)


def _of_dead_letter(rejection: Rejection) -> Response:
    hint = "it became a dead letter: `perceptron dead-letters list` shows it"
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return problem_response(status, rejection.message, "event", hint, reason=rejection.reason)


def _respond_to_lines(request: Request, decided: Sequence[Ticket | Rejection]) -> Response:
    """Return the results of the lines. The status is 200, or the highest status of a problem.

    Retryable statuses are the highest: if any line may be accepted later, the client sends the body again and
    loses no line.
    """
    problems, problem_fields, repeated = [], line_problems(request), 0
    unsure = AppendUnsure(_UNSURE, hint=SEND_AGAIN)
    for number, line in enumerate(decided, 1):
        if isinstance(line, Rejection):
            problems.append(problem_fields(number, line))
        elif (error := line.appended.result() if line.appended.done() else unsure) is not None:
            problems.append(problem_fields(number, error))
        else:
            repeated += line.repeated
    acknowledged = len(decided) - len(problems)
    counts = {"lines": len(decided), "acknowledged": acknowledged, "repeated": repeated, "problems": problems}
    if not problems:
        return json_response(counts)
    worst = max(problems, key=lambda problem: problem["status"])
    status = worst["status"]
    fields = {name: value for name, value in worst.items() if name not in {"line", "status"}}
    fields["what"] = f"line {worst['line']}: {fields['what']}"
    response = json_response({**fields, "lines": counts}, status)
    if status in RETRYABLE_STATUSES:
        response.headers["Retry-After"] = SOON_SECONDS
    return response
