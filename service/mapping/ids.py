"""The ids of events and labels in documents."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from service.messages.paths import parse_path
from service.messages.rejection import Reason, Rejection
from service.settings.mapping import HEADER, KEY, OFFSET, is_of_record
from service.stream import Record

FindId = Callable[[object, Record | None], object]
"""Finds the id of a message; None where there is none. Raises `Rejection`, and `PathError`."""


def id_finder(place: str) -> FindId:
    """Make the function that finds an id at a place: a path, or a part of the record.

    A message without a record, such as one that came by HTTP, gets an id of its own where the record has it.
    """
    if not is_of_record(place):
        find = parse_path(place).find

        def in_document(document: object, _: Record | None) -> object:
            found = find(document)
            return str(found) if type(found) is int else found

        return in_document

    def in_record(_: object, record: Record | None) -> object:
        return uuid4().hex if record is None else _of_record(place, record)

    return in_record


def _of_record(place: str, record: Record) -> str | None:
    if place == OFFSET:
        return f"{record.topic}-{record.partition}-{record.offset}"
    found = record.key if place == KEY else dict(record.headers).get(place.removeprefix(HEADER))
    try:
        return None if found is None else found.decode()
    except UnicodeDecodeError as error:
        raise Rejection(Reason.INVALID_ID, f"{place}: byte {error.start} is not UTF-8") from None
