"""Read record values as documents.

A document is a dictionary with texts as names, or the text that the whole value is. In it are dictionaries,
lists, texts, numbers, booleans and None; `service.mapping` finds events and labels there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pydantic_core import from_json

from service.messages.decoder import rejection_of_syntax
from service.messages.rejection import Reason, Rejection
from service.stream import Headers

Reader = Callable[[bytes, Headers], object]
"""Turns a record's value, with its headers, into a document; raises `Rejection`."""


def read_json(value: bytes, _headers: Headers = ()) -> object:
    """Read a JSON object. Raises `Rejection`."""
    try:
        document = from_json(value)
    except ValueError as error:
        raise rejection_of_syntax(value, str(error)) from None
    if not isinstance(document, dict):
        raise Rejection(Reason.NOT_AN_OBJECT, "the value is JSON, but not an object")
    return document


def read_text(value: bytes, _headers: Headers = ()) -> str:
    """Read text in UTF-8. Raises `Rejection`."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Rejection(Reason.INVALID_UTF8, f"byte {error.start} is not UTF-8") from None


READERS: Final[Mapping[str, Reader]] = {"json": read_json, "text": read_text}
"""By the values of `events.format` and `labels.format`; the others need schemas."""
