"""Append the lines of a body to a topic: what is acknowledged is durable, and every other line is named."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from service.errors import AppendUnsure, ServiceError
from service.intake.submissions import Submission
from service.intake.tickets import Countdown, LineTicket
from service.messages.rejection import Rejection
from service.web.lines.bodies import lines_of
from service.web.lines.problems import LineProblems, appended

if TYPE_CHECKING:
    from service.web.inputs import Inputs

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
