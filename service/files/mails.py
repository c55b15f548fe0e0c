"""Mailboxes (mbox) and single mails (.eml): each mail becomes a text, or a document for the mapping.

A mail begins with a line `From …` at the start of the file or after a blank line, and before a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from service.files.columns import Columns
from service.files.rows import BadRow, DamagedFile, FileFormat, Lines, TimedRow, encode_event, label_value
from service.mapping.texts import mail_document

MAX_MAIL_BYTES: Final = 64 << 20
"""Largest mail in bytes; a larger one is a bad row, and only its beginning is kept."""
_KEPT_BYTES: Final = 1000
_SEPARATOR: Final = b"From "
_HEADER: Final = re.compile(rb"[!-9;-~]+[ \t]*:|>From ")


def mbox_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each mail of a mailbox. Raises `DamagedFile` if it is not a mailbox."""
    for number, (line, mail) in enumerate(_mails(lines), start=1):
        after, lines.number = lines.number, line
        yield _event(mail, number, columns)
        lines.number = after


def mail_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield one event for a file that is a mail."""
    mail = bytearray()
    for line in lines:
        mail += line if len(mail) <= MAX_MAIL_BYTES else b""
    if mail:
        yield _event(bytes(mail), 1, columns)


def _mails(lines: Lines) -> Iterator[tuple[int, bytes]]:
    """Yield the mails, each with the number of its first line."""
    mail, begins, follows_blank, waiting = bytearray(), 0, True, b""
    for line in chain(lines, [b""]):
        if waiting and _HEADER.match(line):
            if begins:
                yield begins, bytes(mail)
            mail, begins = bytearray(), lines.number - 1
        elif len(mail) <= MAX_MAIL_BYTES:
            mail += waiting
        waiting = b""
        if follows_blank and line.startswith(_SEPARATOR):
            waiting = line
        elif not begins and (mail or line.strip()):
            raise DamagedFile("not a mailbox: expected a first line 'From …' and a header")
        elif begins and len(mail) <= MAX_MAIL_BYTES:
            mail += line
        follows_blank = line.isspace()
    if begins:
        yield begins, bytes(mail)


def _event(mail: bytes, number: int, columns: Columns) -> bytes:
    """Return a mail as a document if there is a mapping; else its subject and text as an event."""
    if len(mail) > MAX_MAIL_BYTES:
        return BadRow(mail[:_KEPT_BYTES], f"the mail is longer than {MAX_MAIL_BYTES} bytes")
    try:
        document = mail_document(mail)
    except ValueError as error:
        return BadRow(mail[:_KEPT_BYTES], str(error))
    if document["id"] is None:
        document |= columns.name(number)
    if columns.mapping:
        return encode_event(document)
    event = {"id": document["id"]}
    if not columns.are_labels:
        event["text"] = "\n".join(filter(None, (document["subject"], document["text"])))
    if columns.label is not None and (label := _named(document, columns.label)) is not None:
        event["label"] = label_value(str(label), columns.classes)
    message = encode_event(event)
    return message if columns.time is None else TimedRow(message, _named(document, columns.time))


def _named(mail: dict[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever it is
    """Return a field of a mail, or else a header."""
    return mail.get(name) or mail["headers"].get(name.lower())


MAIL_FORMATS: Final = (
    FileFormat("mbox", (".mbox", ".mbx"), mbox_events, is_text=False),
    FileFormat("eml", (".eml",), mail_events, is_text=False),
)
