"""Pass requests about models on to the worker that has the partition.

The same code then answers, and reports errors, wherever a model is. Only a worker can read which partition
an event or a label belongs to: one that does not have the partition names the one that does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Annotated, Any, Final, Protocol
from urllib.parse import urlencode, urlsplit

from fastapi import Depends, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from service.errors import ModelBusy, NoSuchModel
from service.mapping.ids import FindId
from service.partitioner import partition_at_work
from service.web.guard import INPUTS
from service.web.lines.bodies import has_lines, lines_of
from service.web.lines.relayed import relay_lines
from service.web.together import ALL, together

_PATIENCE_SECONDS: Final = 10.0
"""Longer than a worker takes to say that its model is busy."""

_INPUT_PATIENCE_SECONDS: Final = 90.0
"""Longer than a worker waits for a prediction and for an append."""

_MOST_INPUTS: Final = 200
"""Requests that may wait for workers at a time, each on a thread: as many as the server has connections."""

_OTHER_QUESTIONS: Final = {"/explain": "POST", "/model": "GET", "/decisions": "GET", "/state": "GET"}
_QUESTIONS: Final = {"/predict", *_OTHER_QUESTIONS}
_OF_CONNECTION: Final = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
"""Headers that are not passed on; any other may hold an id (`events.id = "@header.NAME"`)."""
_PASSED_BACK: Final = ("content-type", "retry-after")
"""Headers of an answer that the client gets."""


_Pass = Callable[[Request, bytes], Awaitable[Response]]
"""Passes a request and its body on."""


class Elsewhere(Protocol):
    """The models in other processes."""

    def addresses(self) -> Mapping[int, str]:
        """Return by partition the URL of the server that answers for its model."""

    @property
    def n_partitions(self) -> int:
        """Partitions of the events topic; 0 before it is known."""


async def _body(request: Request) -> bytes:
    return await request.body()


def add_relay(
    app: FastAPI, elsewhere: Elsewhere, about: Callable[[], dict[str, Any]], find_id: FindId
) -> None:
    """Add the endpoints about models, and the document that describes them.

    `about` returns the fields of the service as a whole, which no worker knows; `find_id` an event's id.
    """

    def pass_on(request: Request, body: Annotated[bytes, Depends(_body)]) -> Response:
        addresses = elsewhere.addresses()
        if request.url.path == "/state" and _is_of_all(request, addresses):
            state = together(_states(request, addresses))
            return _json(state | about() | {"partitions": sorted(addresses)})
        event_id = None if "partition" in request.query_params else _event_id(body, find_id)
        partition = _partition(request, event_id, addresses, elsewhere.n_partitions)
        query = dict(request.query_params)
        if request.url.path in _QUESTIONS:
            query.setdefault("partition", str(partition))
        answer = _forward(addresses[partition], request, query, body, _PATIENCE_SECONDS)
        if answer.status_code == HTTPStatus.NOT_FOUND:
            raise _nobody_has(query["partition"], addresses)
        if request.url.path == "/state" and answer.status_code == HTTPStatus.OK:
            return _json(json.loads(bytes(answer.body)) | about() | {"partitions": sorted(addresses)})
        return answer

    threads = ThreadPoolExecutor(_MOST_INPUTS, "input")
    pass_lines = _line_relay(elsewhere, find_id, threads)
    take = _either(pass_lines, _input_relay(elsewhere, find_id, threads))
    for path in INPUTS:
        app.add_api_route(path, take, methods=["POST"], include_in_schema=False)
    predict = _either(pass_lines, lambda request, body: run_in_threadpool(pass_on, request, body))
    app.add_api_route("/predict", predict, methods=["POST"], include_in_schema=False)
    app.add_api_route("/predict", pass_on, methods=["GET"], include_in_schema=False)
    for path, method in {**_OTHER_QUESTIONS, "/openapi.json": "GET"}.items():
        app.add_api_route(path, pass_on, methods=[method], include_in_schema=False)


def _either(pass_lines: _Pass, pass_one: _Pass) -> Callable[..., Awaitable[Response]]:
    """Return the endpoint that takes bodies of both forms."""

    async def take(request: Request, body: Annotated[bytes, Depends(_body)]) -> Response:
        return await (pass_lines if has_lines(request) else pass_one)(request, body)

    return take


def _input_relay(elsewhere: Elsewhere, find_id: FindId, threads: ThreadPoolExecutor) -> _Pass:
    """Return what passes an event or a label on."""

    async def pass_in(request: Request, body: bytes) -> Response:
        addresses = elsewhere.addresses()
        if not addresses:
            raise _nobody_yet()
        key = request.query_params.get("key") or _event_id(body, find_id)
        guess = partition_at_work(addresses, key, elsewhere.n_partitions)
        running = asyncio.get_running_loop()
        return await running.run_in_executor(threads, _submit, request, body, addresses, guess)

    return pass_in


def _line_relay(elsewhere: Elsewhere, find_id: FindId, threads: ThreadPoolExecutor) -> _Pass:
    """Return what passes the lines of a request on."""

    async def pass_lines(request: Request, _: bytes) -> Response:
        addresses, key = elsewhere.addresses(), request.query_params.get("key")

        def server_of(line: bytes | None) -> str:
            name = key or (None if line is None else _event_id(line, find_id))
            return addresses[_partition(request, name, addresses, elsewhere.n_partitions)]

        def forward(server: str, body: bytes) -> Response:
            query = dict(request.query_params)
            answer = _forward(server, request, query, body, _INPUT_PATIENCE_SECONDS)
            if answer.status_code == HTTPStatus.NOT_FOUND:
                raise _nobody_has(query["partition"], addresses)
            return answer

        running, lines = asyncio.get_running_loop(), await lines_of(request)
        return await running.run_in_executor(threads, relay_lines, request, lines, server_of, forward)

    return pass_lines


def _json(content: Mapping[str, Any]) -> Response:
    return Response(json.dumps(content), media_type="application/json")


def _is_of_all(request: Request, addresses: Mapping[int, str]) -> bool:
    partition = request.query_params.get("partition")
    return bool(addresses) and (partition == ALL or (partition is None and len(addresses) > 1))


def _states(request: Request, addresses: Mapping[int, str]) -> Sequence[Mapping[str, Any]]:
    """Request the state of all workers at once; return the answers. Raises `ModelBusy` if none does."""
    servers = sorted(set(addresses.values()))
    with ThreadPoolExecutor(len(servers)) as threads:
        answers = [*threads.map(lambda server: _state_of(server, request), servers)]
    states = [json.loads(bytes(each.body)) for each in answers if each and each.status_code == HTTPStatus.OK]
    if not states:
        raise ModelBusy("no worker answers", hint="ask again; /readyz shows the state of the workers")
    return states


def _state_of(server: str, request: Request) -> Response | None:
    """Return a worker's answer to a request for its state; None if it gives none."""
    with suppress(ModelBusy):
        return _forward(server, request, {"partition": ALL}, b"", _PATIENCE_SECONDS)
    return None


def _submit(request: Request, body: bytes, addresses: Mapping[int, str], guess: int) -> Response:
    """Send an event or a label to the worker that probably has its partition; then to the one it names."""
    query = dict(request.query_params)
    answer = _forward(addresses[guess], request, query, body, _INPUT_PATIENCE_SECONDS)
    if answer.status_code == HTTPStatus.MISDIRECTED_REQUEST:
        owner = json.loads(bytes(answer.body)).get("partition")
        if owner in addresses and addresses[owner] != addresses[guess]:
            return _forward(addresses[owner], request, query, body, _INPUT_PATIENCE_SECONDS)
    return answer


def _partition(
    request: Request, event_id: str | None, addresses: Mapping[int, str], n_partitions: int
) -> int:
    """Choose as a single process would: the requested partition, else the event's own, else the first.

    The worker of the first also reports what is wrong with the request.
    """
    if not addresses:
        raise _nobody_yet()
    requested = request.query_params.get("partition")
    for partition in addresses:
        if str(partition) == requested:
            return partition
    return partition_at_work(addresses, event_id, n_partitions)


def _nobody_yet() -> NoSuchModel:
    return NoSuchModel("no partition is served yet", hint="/readyz shows the state of the workers")


def _nobody_has(partition: str, addresses: Mapping[int, str]) -> NoSuchModel:
    here = ", ".join(map(str, sorted(addresses)))
    return NoSuchModel(
        f"partition {partition}: not served by this service; served here: {here}",
        hint="another member of the group may have it; /readyz shows the state of this one",
    )


def _event_id(body: bytes, find_id: FindId) -> str | None:
    """Find the id of the event of a request; None if it cannot be read."""
    try:
        event_id = find_id(json.loads(body), None)
        event_id.encode()  # type: ignore[attr-defined]
    except (ValueError, AttributeError, RecursionError):
        return None  # the worker says what is wrong with it
    return str(event_id)


def _forward(
    address: str, request: Request, query: Mapping[str, str], body: bytes, patience_seconds: float
) -> Response:
    """Forward a request to the worker's server."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=patience_seconds)
    headers = {name: value for name, value in request.headers.items() if name not in _OF_CONNECTION}
    try:
        connection.request(request.method, f"{request.url.path}?{urlencode(query)}", body, headers)
        answer = connection.getresponse()
        passed_back = {name: value for name, value in answer.getheaders() if name in _PASSED_BACK}
        return Response(answer.read(), answer.status, passed_back)
    except (OSError, HTTPException) as error:
        raise ModelBusy(
            f"the worker that has the model does not answer: {error}",
            hint="ask again; /readyz shows the state of the workers",
        ) from error
    finally:
        connection.close()
