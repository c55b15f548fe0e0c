"""Pass the lines of a body on to the workers that have their partitions, and put the answers together."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from itertools import repeat
from typing import Any, Final, NamedTuple

from fastapi import Request, Response

from service.errors import ServiceError
from service.web.lines.bodies import NDJSON
from service.web.lines.problems import LineProblems, appended

_PROBLEM: Final = b'{"line":'
"""How the answer to a line begins that was refused."""

Forward = Callable[[str, bytes], Response]
"""Forwards a body to a server; returns its answer. Raises `ServiceError`."""


class _Share(NamedTuple):
    """The lines of one worker, by number, and its answer."""

    numbers: Sequence[int]
    answer: Response | ServiceError


def relay_lines(
    request: Request, lines: Sequence[bytes], server_of: Callable[[bytes | None], str], forward: Forward
) -> Response:
    """Forward each line to its server, all servers at once; answer as one that has all partitions.

    Parameters
    ----------
    request
        Whose lines they are.
    lines
        Of its body.
    server_of
        Chooses the server of a line; None is no line, which any server answers.
    forward
        Called on several threads.

    """
    by_server: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        by_server[server_of(line)].append(number)
    if not lines:
        by_server[server_of(None)] = []
    with ThreadPoolExecutor(len(by_server)) as threads:
        shares = [*threads.map(_forwarded, repeat(forward), by_server, by_server.values(), repeat(lines))]
    if request.url.path == "/predict":
        return _predicted(shares, len(lines))
    return _appended(request, shares, len(lines))


def _forwarded(forward: Forward, server: str, numbers: Sequence[int], lines: Sequence[bytes]) -> _Share:
    try:
        return _Share(numbers, forward(server, b"".join(lines[number] + b"\n" for number in numbers)))
    except ServiceError as error:
        return _Share(numbers, error)


def _predicted(shares: Sequence[_Share], count: int) -> Response:
    """Put the lines in order; if a worker has refused its body, refuse the whole as it did."""
    answers: list[bytes] = [b""] * count
    for numbers, answer in shares:
        if isinstance(answer, ServiceError):
            raise answer
        if answer.status_code != HTTPStatus.OK:
            return answer
        for number, line in zip(numbers, bytes(answer.body).splitlines(keepends=True), strict=True):
            is_problem = line.startswith(_PROBLEM)
            answers[number] = (
                b"%b%d%b" % (_PROBLEM, number + 1, line[line.index(b",") :]) if is_problem else line
            )
    return Response(b"".join(answers), media_type=NDJSON)


def _appended(request: Request, shares: Sequence[_Share], count: int) -> Response:
    """Add up what became of the lines; where a worker has refused its body, of each line of it."""
    problems: list[Mapping[str, Any]] = []
    repeated, tell = 0, LineProblems(request).tell
    told = [(numbers, answer, _lines_in(answer)) for numbers, answer in shares]
    for numbers, answer, lines in told:
        if lines is not None:
            repeated += lines["repeated"]
            problems += [each | {"line": numbers[each["line"] - 1] + 1} for each in lines["problems"]]
        elif isinstance(answer, ServiceError):
            problems += [tell(number + 1, answer) for number in numbers]
        elif len(shares) == 1:
            return answer
        else:
            problem = {"status": answer.status_code, **json.loads(bytes(answer.body))}
            problems += [{"line": number + 1, **problem} for number in numbers]
    return appended(count, repeated, sorted(problems, key=lambda problem: problem["line"]))


def _lines_in(answer: Response | ServiceError) -> Mapping[str, Any] | None:
    """Return what a worker says about lines; None if it has refused the body."""
    if isinstance(answer, ServiceError):
        return None
    fields = json.loads(bytes(answer.body))
    found: Mapping[str, Any] | None = fields if answer.status_code == HTTPStatus.OK else fields.get("lines")
    return found
