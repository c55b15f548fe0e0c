"""Read HTML and mails, even malformed ones: the visible text, headers, attachments."""

from __future__ import annotations

import encodings
import re
from collections.abc import Iterator
from datetime import UTC
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import getaddresses, parsedate_to_datetime
from encodings import normalize_encoding
from encodings.aliases import aliases
from html import unescape
from itertools import islice
from pkgutil import iter_modules
from typing import Any, Final

_OPENING: Final = re.compile(r"<(?:(!--)|[!?]|/?([A-Za-z][A-Za-z0-9]*))")
_HIDDEN: Final = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "head")}
"""Elements with invisible content, and their end tags."""
_LONG_REFERENCE: Final = re.compile(r"&#\d{100,};?", re.ASCII)
"""A reference to a character beyond all, with more digits than Python may read as an integer."""
_WITHIN_WORDS: Final = frozenset({"a", "b", "em", "font", "i", "s", "span", "strong", "u", "wbr"})
"""Elements that may start and end within a word."""


def text_of_html(html: str) -> str:
    """Return the visible text, with white space as single spaces.

    An unclosed comment or tag hides the rest.

    >>> text_of_html("<p>Win <b>pri</b>zes &amp; more<br>now<script>track()</script>")
    'Win prizes & more now'
    """
    pieces, at = [], 0
    while (start := html.find("<", at)) >= 0:
        pieces.append(html[at:start])
        opening = _OPENING.match(html, start)
        if opening is None:
            pieces.append("<")
            at = start + 1
            continue
        at = _index_after(html, "-->" if opening[1] else ">", opening.end())
        name = (opening[2] or "").lower()
        if name not in _WITHIN_WORDS:
            pieces.append(" ")
        if name in _HIDDEN and html[start + 1] != "/":
            closing = _HIDDEN[name].search(html, at)
            at = closing.start() if closing else len(html)
    text = _LONG_REFERENCE.sub("\ufffd", "".join([*pieces, html[at:]]))
    return " ".join(unescape(text).split())


def _index_after(html: str, end: str, start: int) -> int:
    index = html.find(end, start)
    return len(html) if index < 0 else index + len(end)


_SPACES: Final = re.compile(r"\s+")
_TEXTS: Final = ("text/plain", "text/html")
_ADDRESSES: Final = ("from", "to", "cc", "reply-to")
_MAX_HEADER_LENGTH: Final = 10_000
"""Longest text in characters; a longer one is cut."""
_MAX_HEAD_BYTES: Final = 65_536
"""Largest size of a mail's headers in bytes; of a part's headers, a sixteenth. The rest is left out."""
_MAX_PARTS: Final = 100
_MAX_LEVELS: Final = 10
_CODECS: Final = {module.name for module in iter_modules(encodings.__path__)} - {"punycode", "idna"}
"""Charsets, except charsets of host names, whose decoding takes the square of the length."""
_BROKEN: Final = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""Errors that Python's library raises for malformed headers."""
_HEAD: Final = re.compile(rb"(?:(?:From |[!-9;-~]*:|[\t ])[^\r\n]*(?:\r\n|[\r\n]|\Z))*")
_LINE_END: Final = re.compile(rb"\A(?:\r\n|[\r\n])")
_PARAMETER: Final = re.compile(r';\s*([!#$&+.^\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))')


def parameter_of(header: str, name: str) -> str | None:
    """Return a parameter of a header like `Content-Type`, in linear time; None if it is missing.

    Python's parser takes quadratic time for a value with an unclosed quote.

    >>> parameter_of('text/plain; format=flowed; Charset="utf-8"', "charset")
    'utf-8'
    """
    for match in _PARAMETER.finditer(header[:_MAX_HEADER_LENGTH]):
        if match[1].lower() == name:
            return match[2] if match[3] is None else match[3]
    return None


def mail_document(mail: bytes) -> dict[str, Any]:
    r"""Return a mail as a document: addresses, subject, date, text, html, headers, attachments.

    Missing parts are None or an empty list. Raises `ValueError` if parts are nested too deeply.

    >>> mail = b"From: Ann <ann@x.org>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nHello\n"
    >>> found = mail_document(mail)
    >>> found["from"], found["subject"], found["text"], found["to"]
    ('ann@x.org', 'Grüße', 'Hello\n', [])
    """
    message, body = _split(mail, _MAX_HEAD_BYTES)
    parts = list(islice(_leaves(message, body, 0), _MAX_PARTS))
    headers: dict[str, str] = {}
    for name, value in message.raw_items():
        headers.setdefault(name.lower(), _decoded(value))
    addresses = {name: _addresses(headers.get(name, "")) for name in _ADDRESSES}
    plain, html = (_first(parts, kind) for kind in _TEXTS)
    return {
        "id": headers.get("message-id", "").strip(" <>") or None,
        "date": _date(headers.get("date", "")),
        "from": next(iter(addresses["from"]), None),
        "reply_to": next(iter(addresses["reply-to"]), None),
        "to": [*addresses["to"], *addresses["cc"]],
        "subject": headers.get("subject"),
        "text": text_of_html(html) if plain is None and html is not None else plain,
        "html": html,
        "content_type": message.get_content_type(),
        "attachments": [part.get_content_type() for part in parts if _is_attached(part)],
        "headers": headers,
    }


def text_of_mail(mail: bytes) -> str:
    """Return the subject of a mail and the text of its body. Raises `ValueError` as `mail_document`."""
    document = mail_document(mail)
    return f"{document['subject'] or ''}\n{document['text'] or ''}"


def _split(mail: bytes, max_bytes: int) -> tuple[Message, bytes]:
    """Return the headers of a mail or part, up to a limit, and the body."""
    head = _HEAD.match(mail)
    assert head is not None, "it matches nothing, if nothing else"
    message: Message = BytesHeaderParser().parsebytes(head[0][:max_bytes])
    return message, _LINE_END.sub(b"", mail[head.end() :])


def _leaves(message: Message, body: bytes, level: int) -> Iterator[Message]:
    """Yield the parts that contain no parts; an attached mail counts as one.

    Raises `ValueError` if they are nested too deeply.
    """
    pieces = []
    if message.get_content_maintype() == "multipart":
        boundary = parameter_of(str(message.get("content-type")), "boundary")
        pieces = _pieces(body, boundary) if boundary else []
    if pieces and level == _MAX_LEVELS:
        raise ValueError("its parts are nested too deeply")
    for piece in pieces:
        yield from _leaves(*_split(piece, _MAX_HEAD_BYTES // 16), level + 1)
    if not pieces:
        message.set_payload(body.decode("ascii", "surrogateescape"))
        yield message


def _pieces(body: bytes, boundary: str) -> list[bytes]:
    """Return the pieces between the lines of a boundary, up to its last line."""
    line = rb"(?:\A|\r\n|[\r\n])--%b(--)?[ \t]*(?=[\r\n]|\Z)"
    delimiter = re.compile(line % re.escape(boundary.encode("ascii", "surrogateescape")))
    pieces, start = [], -1
    for match in islice(delimiter.finditer(body), _MAX_PARTS + 1):
        if start >= 0:
            pieces.append(body[start : match.start()])
        start = match.end()
        if match[1]:
            break
    else:
        pieces += [body[start:]] if start >= 0 else []
    return [piece for each in pieces[:_MAX_PARTS] if (piece := _LINE_END.sub(b"", each))]


def _is_attached(part: Message) -> bool:
    return _disposition(part) == "attachment" or part.get_content_maintype() != "text"


def _disposition(part: Message) -> str | None:
    try:
        return part.get_content_disposition()
    except _BROKEN:
        return None


def _first(parts: list[Message], kind: str) -> str | None:
    """Return the text of the first part of a type that is not an attachment; None if there is none."""
    for part in parts:
        if part.get_content_type() == kind and not _is_attached(part):
            return _content(part)
    return None


def _content(part: Message) -> str:
    """Return the text of a part; invalid bytes become U+FFFD, as in mail programs."""
    try:
        payload = part.get_payload(decode=True)
    except _BROKEN:
        payload = None
    if not isinstance(payload, bytes):
        return ""
    return _text(payload, parameter_of(str(part.get("content-type")), "charset") or "utf-8")


def _decoded(value: object) -> str:
    """Return the decoded text of a header: encoded words are decoded, lines are joined."""
    text = str(value)[:_MAX_HEADER_LENGTH]
    try:
        pieces = [_text(each, charset) for each, charset in decode_header(text)]
    except (*_BROKEN, ArithmeticError):
        pieces = [text]
    joined = _SPACES.sub(" ", "".join(pieces)).strip()
    return joined.encode(errors="surrogateescape").decode(errors="replace")


def decoded(text: bytes, charset: str, errors: str = "strict") -> str:
    """Decode a text. Raises `LookupError` if the charset is not a text encoding.

    Python caches every name that is looked up, even of charsets that it does not have.
    """
    name = normalize_encoding(charset.lower())
    codec = aliases.get(name, name)
    if codec not in _CODECS:
        raise LookupError(f"{charset} is not a charset of texts")
    return text.decode(codec, errors)


def _text(piece: str | bytes, charset: str | None) -> str:
    if isinstance(piece, str):
        return piece
    try:
        return decoded(piece, charset or "latin-1", "replace")
    except _BROKEN:
        return piece.decode(errors="replace")


def _addresses(value: str) -> list[str]:
    try:
        return [address.lower() for _, address in getaddresses([value]) if address]
    except _BROKEN:
        return []


def _date(value: str) -> str | None:
    """Return a date in ISO 8601, in UTC, also the default zone; None if it is invalid."""
    try:
        moment = parsedate_to_datetime(value)
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).isoformat()
    except _BROKEN:
        return None
