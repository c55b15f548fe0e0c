"""Read the bodies of requests: one record, or a line for each of several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from email.message import Message
from typing import Any, Final

from fastapi import Request

from service.errors import MessageTooLarge
from service.mapping.texts import text_of_mail
from service.messages.rejection import Reason, Rejection
from service.web.problems import UnsupportedBody

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
MOST_LINES: Final = 10_000
"""Of a body: as many as may wait to be processed by default (`http_max_lag`)."""
_NOT_ENCODED: Final = "identity"
_UTF_8: Final = ("utf-8", "utf8", "us-ascii")
_LONGEST_SHOWN: Final = 40


async def event_body(request: Request) -> bytes:
    """Return the body as it came: it is read as a record of the stream is, by the same code."""
    return await body_of(request, JSON)


async def body_of(request: Request, wanted: str) -> bytes:
    """Return the body if it has the media type that is wanted, and, of JSON, UTF-8."""
    media_type = media_type_of(request)
    encoding = request.headers.get("content-encoding", _NOT_ENCODED)
    if encoding.strip().lower() != _NOT_ENCODED:
        raise UnsupportedBody(
            f"the body must be as it is, not {encoding[:_LONGEST_SHOWN]}",
            "send it without `Content-Encoding`",
        )
    if media_type != wanted:
        like = "as `curl --json` does" if wanted == JSON else "with `curl --data-binary`"
        raise UnsupportedBody(
            f"the body must be {wanted}, not {media_type or 'without a type'}",
            f"send `Content-Type: {wanted}`, {like}",
        )
    charset = charset_of(request)
    if wanted in {JSON, NDJSON} and charset not in _UTF_8:
        raise UnsupportedBody(
            f"the body must be {wanted} in UTF-8, not {charset}",
            f"send `Content-Type: {wanted}`, which means UTF-8",
        )
    return await request.body()


def has_lines(request: Request) -> bool:
    """Return whether the body of a request is NDJSON."""
    return media_type_of(request) == NDJSON


async def lines_of(request: Request) -> Sequence[bytes]:
    """Return the lines of an NDJSON body, the empty ones as well; the last needs no line end.

    Raises `MessageTooLarge` if there are too many.
    """
    body = await body_of(request, NDJSON)
    lines = body.replace(b"\r\n", b"\n").split(b"\n", MOST_LINES)
    if not lines[-1]:
        lines.pop()
    if len(lines) > MOST_LINES:
        raise MessageTooLarge(
            f"the body has more than {MOST_LINES} lines",
            hint="send it in parts, as `split --lines` makes them",
        )
    return lines


def with_lines(described: dict[str, Any], what: str) -> dict[str, Any]:
    """Add NDJSON to the description of a JSON body, for the OpenAPI document."""
    body = described["requestBody"]
    lines = {"schema": {"type": "string", "description": f"{what}, at most {MOST_LINES}."}}
    return {"requestBody": body | {"content": body["content"] | {NDJSON: lines}}}


def media_type_of(request: Request) -> str:
    """Return the media type of a request's body in small letters; empty if there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def charset_of(request: Request) -> str:
    """Return the encoding that a request names for its body, else UTF-8."""
    content_type = Message()
    content_type["Content-Type"] = request.headers.get("content-type", "")
    return content_type.get_content_charset(_UTF_8[0])


TEXT: Final = "text/plain"
MAIL: Final = "message/rfc822"
_ID: Final = "-"
"""A text has no id: it is asked about, and nothing more comes of it."""
_MEDIA: Final[dict[str, Any]] = {
    TEXT: {"schema": {"type": "string", "description": "A text; its event has the id `-`."}},
    MAIL: {"schema": {"type": "string", "description": "A mail: its subject and its text are the text."}},
}


async def text_event(request: Request) -> bytes | None:
    """Return the event that a body of plain text or a mail stands for, in the service's own schema.

    None for a body of another type. Raises `Rejection` if its characters cannot be read.
    """
    media_type = media_type_of(request)
    if media_type not in _MEDIA:
        return None
    body = await body_of(request, media_type)
    if media_type == MAIL:
        return event_of(_mail_text(body))
    try:
        return event_of(body.decode(charset_of(request)))
    except (LookupError, UnicodeDecodeError) as error:
        raise Rejection(Reason.INVALID_DATA, f"the text is not {charset_of(request)}: {error}") from error


def event_of(text: str) -> bytes:
    """Return an event with a text and nothing else, in the service's own schema."""
    return json.dumps({"id": _ID, "text": text}).encode()


def with_texts(described: dict[str, Any]) -> dict[str, Any]:
    """Add texts and mails to the description of a JSON body, for the OpenAPI document."""
    body = described["requestBody"]
    return {"requestBody": body | {"content": body["content"] | _MEDIA}}


def _mail_text(mail: bytes) -> str:
    """Return the subject of a mail and the text of its body. Raises `Rejection`."""
    try:
        return text_of_mail(mail)
    except ValueError as error:
        raise Rejection(Reason.TOO_DEEP, f"the mail cannot be read: {error}") from None
