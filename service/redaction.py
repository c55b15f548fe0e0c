"""What may be shown: text that cannot act on a terminal, and values without passwords.

All characters that Python does not call printable are escaped: control characters, line breaks, marks that
change the direction of writing, halves of surrogate pairs. Possible passwords in URLs and settings are
masked.
"""

from __future__ import annotations

import re
from typing import Final

STARS: Final = "**********"

_ODD_PORT: Final = re.compile(r":(?!\d{1,5}(?:,|$)).*")


def one_line(text: str) -> str:
    r"""Escape all characters that could move the cursor or hide text, also line breaks.

    >>> one_line("née\n\x1b[2J")
    'née\\n\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escaped(text: str) -> str:
    r"""Escape the same, except line breaks and tabs, so that the meaning of JSON is unchanged.

    >>> escaped("née\n\x1b[2J\u202e")
    'née\n\\u001b[2J\\u202e'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _json_escape(c) for c in text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def redacted_url(url: str) -> str:
    """Return a URL without anything that may be a name or a password, even if it is mistyped.

    A password may contain any character, also ``/`` and ``@``, so nothing is shown after the first position
    where one may begin. The path of a file is shown unchanged.

    >>> [
    ...     redacted_url(f"kafka://{place}")
    ...     for place in ("h:9092,g:9092", "me:p/w@h:9092", "me:p/w", "h?key=pw")
    ... ]
    ['kafka://h:9092,g:9092', 'kafka://**********', 'kafka://me:**********', 'kafka://**********']
    >>> redacted_url("sqlite:///streams/a@b.db")
    'sqlite:///streams/a@b.db'
    """
    scheme, separator, address = url.partition("://")
    if not separator:
        return STARS if "@" in url else url
    if scheme == "sqlite" and address.startswith("/"):
        return url
    shown = STARS if re.search("[@?#]", address) else _ODD_PORT.sub(f":{STARS}", address)
    return f"{scheme}://{shown}"


def without_query(url: str) -> str:
    """Return an HTTP address without its query and fragment, which may contain a key.

    >>> without_query("https://h:8081/api?token=pw"), without_query("http://h:8081")
    ('https://h:8081/api?**********', 'http://h:8081')
    """
    return re.sub("[?#].*", f"?{STARS}", url, flags=re.DOTALL)


def redacted(value: object) -> str:
    """Return the `repr` of a setting's value; possible passwords in URLs are masked."""
    if isinstance(value, str) and ("://" in value or "@" in value):
        return repr(redacted_url(value))
    text = repr(value)
    return STARS if "://" in text else text
