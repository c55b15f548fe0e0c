"""Questions about a bare text: plain text and mails as bodies, and a text in the URL."""

from __future__ import annotations

import json
from typing import Any, Final

from fastapi import Request

from service.mapping.texts import text_of_mail
from service.messages.rejection import Reason, Rejection
from service.web.lines.bodies import body_of, charset_of, media_type_of

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
