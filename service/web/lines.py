"""Answer the lines of an NDJSON body: predictions, or what became of those that are appended."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from service.errors import AppendUnsure, ServiceError
from service.intake.submissions import Countdown, LineTicket, Submission
from service.messages.rejection import Rejection
from service.monitoring.live_models import LiveModel, LiveModels, Question
from service.web.bodies import JSON, NDJSON, lines_of
from service.web.problems import PASSING, SOON_SECONDS

if TYPE_CHECKING:
    from service.web.inputs import Inputs


class LineProblems:
    """Tells what is wrong with the lines of one body.

    Parameters
    ----------
    request
        The body's.

    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._told: dict[int, tuple[BaseException, dict[str, Any]]] = {}
        """By identity: what the stream refuses it refuses for many lines."""

    def tell(self, number: int, error: BaseException) -> dict[str, Any]:
        """Return the problem of a line: its number, the status it would have, and that answer's fields."""
        _, fields = self._told.get(id(error)) or self._told.setdefault(
            id(error), (error, self._fields(error))
        )
        return {"line": number, **fields}

    def _fields(self, error: BaseException) -> dict[str, Any]:
        kind = Rejection if isinstance(error, Rejection) else ServiceError
        answer = self._request.app.exception_handlers[kind](self._request, error)
        assert isinstance(answer, Response)
        return {"status": answer.status_code, **json.loads(bytes(answer.body))}


def appended(lines: int, repeated: int, problems: Sequence[Mapping[str, Any]]) -> Response:
    """Answer with what became of the lines; where one is not acknowledged, as to a request of its own.

    Of several, the one with the highest status: that passes if any does, and a client that sends again what
    may pass loses no line.
    """
    counts = {
        "lines": lines,
        "acknowledged": lines - len(problems),
        "repeated": repeated,
        "problems": problems,
    }
    if not problems:
        return _json(counts)
    worst = max(problems, key=lambda problem: problem["status"])
    status = worst["status"]
    told = {name: value for name, value in worst.items() if name not in {"line", "status"}}
    told["what"] = f"line {worst['line']}: {told['what']}"
    response = _json({**told, "lines": counts}, status)
    if status in PASSING:
        response.headers["Retry-After"] = SOON_SECONDS
    return response


def _json(fields: Mapping[str, Any], status: int = HTTPStatus.OK) -> Response:
    return Response(to_json(fields), status, media_type=JSON)


_AT_ONCE: Final = 32
"""Lines that a model answers in one turn, for which its loop waits."""


async def predict_lines(
    request: Request, live: LiveModels, partition: int | None, *, is_own: bool
) -> Response:
    """Answer each line of a body as a request of its own, in order; one that is rejected, with its problem.

    Any other error is that of the whole body: nothing is lost with it.
    """
    lines = await lines_of(request)

    def answer_all() -> bytes:
        tell, answers = LineProblems(request).tell, []
        for start in range(0, len(lines), _AT_ONCE):
            part = _predicted(live, lines[start : start + _AT_ONCE], partition, is_own=is_own)
            for number, answer in enumerate(part, start + 1):
                answers.append(to_json(tell(number, answer)) if isinstance(answer, Rejection) else answer)
        return b"".join(line + b"\n" for line in answers)

    return Response(await run_in_threadpool(answer_all), media_type=NDJSON)


def _predicted(
    live: LiveModels, lines: Sequence[bytes], partition: int | None, *, is_own: bool
) -> Sequence[bytes | Rejection]:
    answers: list[bytes | Rejection] = [b""] * len(lines)
    by_model: defaultdict[LiveModel, list[tuple[int, Question]]] = defaultdict(list)
    for place, line in enumerate(lines):
        try:
            question = live.questions.read(line, is_own=is_own)
        except Rejection as rejection:
            answers[place] = rejection
        else:
            by_model[live.get(partition, question.id)].append((place, question))
    for model, asked in by_model.items():
        predicted = model.predict_all([question for _, question in asked])
        for (place, question), answer in zip(asked, predicted, strict=True):
            if isinstance(answer, Rejection):
                answers[place] = answer
            else:
                owned = live.owns(model.partition, question.id)
                fields = {**answer, "partition": model.partition, "owned": owned}
                answers[place] = to_json(fields, inf_nan_mode="null")
    return answers


_ROOM_SECONDS: Final = 5.0
"""How long a body waits for room: a client that waits for its answer sends no more meanwhile."""
_LOOK_SECONDS: Final = 0.01

Read = Callable[[bytes, bytes | None, Mapping[str, str]], Submission]
"""Reads a record. Raises `Rejection`."""

Decided = Sequence[LineTicket | Rejection]
"""What became of each line: those that cannot be read are not submitted."""


async def append_lines(
    inputs: Inputs, request: Request, read: Read, key: bytes | None, patience_seconds: float
) -> Response:
    """Append the lines of a body, each as a request of its own would; answer when that is decided of all.

    Bodies take turns, so that the lines of one are in memory, and wait until there is room for them.
    """
    lines = await lines_of(request)
    async with inputs.turn:
        await _room(inputs, len(lines))
        countdown, decided = await run_in_threadpool(_submit, inputs, lines, read, key, request.headers)
    await asyncio.wait({asyncio.wrap_future(countdown.done)}, timeout=patience_seconds)
    return await run_in_threadpool(_answer, request, decided, patience_seconds)


async def _room(inputs: Inputs, count: int) -> None:
    """Wait until so many lines may be open, or none is; not for long: those that are too many are refused."""
    max_lag, deadline = inputs.settings.http_max_lag, monotonic() + _ROOM_SECONDS
    while 0 < inputs.n_waiting() > max_lag - count:
        if monotonic() > deadline:
            break
        await asyncio.sleep(_LOOK_SECONDS)


def _submit(
    inputs: Inputs, lines: Sequence[bytes], read: Read, key: bytes | None, headers: Mapping[str, str]
) -> tuple[Countdown, Decided]:
    countdown = Countdown(len(lines))
    decided: list[LineTicket | Rejection] = []
    by_partition: defaultdict[int, list[LineTicket]] = defaultdict(list)
    for line in lines:
        try:
            ticket = LineTicket(read(line, key, headers), countdown)
        except Rejection as rejection:
            countdown.count()
            decided.append(rejection)
            continue
        decided.append(ticket)
        by_partition[inputs.partition_of(ticket.submission)].append(ticket)
    for partition, tickets in by_partition.items():
        try:
            intake = inputs.intake(partition)
        except ServiceError as error:
            for ticket in tickets:
                ticket.fail(error)
        else:
            intake.submit_lines(tickets, inputs.settings.http_max_lag)
    return countdown, decided


def _answer(request: Request, decided: Decided, patience_seconds: float) -> Response:
    problems, tell, repeated = [], LineProblems(request).tell, 0
    unsure = AppendUnsure(
        f"it was not appended within {patience_seconds:g} s; it may be yet",
        hint="send it again: the id keeps it from being appended twice",
    )
    for number, line in enumerate(decided, 1):
        if isinstance(line, Rejection):
            problems.append(tell(number, line))
        elif not line.appended.done():
            problems.append(tell(number, unsure))
        elif (error := line.appended.exception()) is not None:
            problems.append(tell(number, error))
        else:
            repeated += line.repeated
    return appended(len(decided), repeated, problems)
