"""Answer the lines of a body with a line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastapi import Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from service.messages.rejection import Rejection
from service.web.lines.bodies import NDJSON, lines_of
from service.web.lines.problems import LineProblems

Answer = Callable[[bytes], Response]
"""Answers one line. Raises `Rejection` for what is wrong with it, any other error for the whole body."""


async def answer_lines(request: Request, answer: Answer) -> Response:
    """Answer each line of a body as a request of its own, in order; one that is refused, with its problem."""
    lines = await lines_of(request)
    return Response(await run_in_threadpool(_answers, request, lines, answer), media_type=NDJSON)


def _answers(request: Request, lines: Sequence[bytes], answer: Answer) -> bytes:
    problems, answers = LineProblems(request), []
    for number, line in enumerate(lines, 1):
        try:
            answers.append(bytes(answer(line).body))
        except Rejection as rejection:
            answers.append(to_json(problems.tell(number, rejection)))
    return b"".join(line + b"\n" for line in answers)
