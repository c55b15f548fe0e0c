"""Mailboxes (mbox) and single mails (.eml): each mail becomes an event, or a document to be mapped.

A mail begins with a line `From …` that follows a blank line, or begins the file, and precedes a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from service.files.columns import Columns
from service.files.rows import BadRow, DamagedFile, FileFormat, Lines, TimedRow, encode_event, label_value
from service.mapping.texts import mail_document

MOST_MAIL_BYTES: Final = 64 << 20
"""A larger one is a bad row, of which the beginning is kept."""
_KEPT_BYTES: Final = 1000
_SEPARATOR: Final = b"From "
_HEADER: Final = re.compile(rb"[!-9;-~]+[ \t]*:|>From ")
_CATEGORIES: Final = ("list-id", "x-mailer", "user-agent")
"""Headers that are categories without a mapping."""


def mbox_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each mail of a mailbox. Raises `DamagedFile` if it is none."""
    for number, (line, mail) in enumerate(_mails(lines), start=1):
        after, lines.number = lines.number, line
        yield _event(mail, number, columns)
        lines.number = after


def mail_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield one event for a file that is a mail."""
    mail = bytearray()
    for line in lines:
        mail += line if len(mail) <= MOST_MAIL_BYTES else b""
    if mail:
        yield _event(bytes(mail), 1, columns)


def _mails(lines: Lines) -> Iterator[tuple[int, bytes]]:
    """Yield the mails, each with the number of its first line."""
    mail, begins, is_behind_blank, waiting = bytearray(), 0, True, b""
    for line in chain(lines, [b""]):
        if waiting and _HEADER.match(line):
            if begins:
                yield begins, bytes(mail)
            mail, begins = bytearray(), lines.number - 1
        elif len(mail) <= MOST_MAIL_BYTES:
            mail += waiting
        waiting = b""
        if is_behind_blank and line.startswith(_SEPARATOR):
            waiting = line
        elif not begins and (mail or line.strip()):
            raise DamagedFile("the file is no mailbox: it does not begin with a line 'From …' and a header")
        elif begins and len(mail) <= MOST_MAIL_BYTES:
            mail += line
        is_behind_blank = line.isspace()
    if begins:
        yield begins, bytes(mail)


def _event(mail: bytes, number: int, columns: Columns) -> bytes:
    if len(mail) > MOST_MAIL_BYTES:
        return BadRow(mail[:_KEPT_BYTES], f"the mail is longer than {MOST_MAIL_BYTES} bytes")
    try:
        found = mail_document(mail)
        if columns.mapping:
            return encode_event(columns.name(number) | found)
        event = encode_event(columns.name(number) | _plain_event(found, columns))
        if not columns.time:
            return event
        return TimedRow(event, _named(found, columns.time) or found["headers"].get(columns.time.lower()))
    except ValueError as error:
        return BadRow(mail[:_KEPT_BYTES], str(error))


def _plain_event(mail: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Return the fields of an event: a few headers as categories, subject and body as the text."""
    found: dict[str, Any] = {"features": _features(mail), "text": _text(mail)}
    if columns.text is not None:
        found["text"] = str(_named(mail, columns.text) or "")
    if event_id := _named(mail, columns.id or "id"):
        found["id"] = event_id
    if columns.label is not None and (label := _named(mail, columns.label)) is not None:
        found["label"] = label_value(str(label), columns.classes)
    if columns.are_labels:
        del found["features"], found["text"]
    return found


def _features(mail: dict[str, Any]) -> dict[str, Any]:
    sender, headers = mail["from"], mail["headers"]
    features = {
        "from": sender,
        "from_domain": sender.rpartition("@")[2] if sender else None,
        "reply_to": mail["reply_to"],
        "content_type": mail["content_type"],
        "n_recipients": len(mail["to"]),
        "n_attachments": len(mail["attachments"]),
        **{name: headers.get(name) for name in _CATEGORIES},
    }
    return {name: value for name, value in features.items() if value is not None}


def _text(mail: dict[str, Any]) -> str:
    return "\n".join(filter(None, (mail["subject"], mail["text"])))


def _named(mail: dict[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever it is
    """Return a field of a mail, or else a header."""
    return mail[name] if name in mail else mail["headers"].get(name.lower())


MAIL_FORMATS: Final = (
    FileFormat("mbox", (".mbox", ".mbx"), mbox_events, is_text=False),
    FileFormat("eml", (".eml",), mail_events, is_text=False),
)
