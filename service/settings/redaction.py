"""Mask passwords in URLs and in values of settings."""

from __future__ import annotations

import re
from typing import Final

STARS: Final = "**********"

_ODD_PORT: Final = re.compile(r":(?!\d{1,5}(?:,|$)).*")


def redacted_url(url: str) -> str:
    """Return a URL without anything that may be a name or a password, however it is mistyped.

    A password may contain any character, ``/`` and ``@`` among them, so where one may begin nothing after it
    is shown. The path of a file is shown as it is.

    >>> [
    ...     redacted_url(f"kafka://{place}")
    ...     for place in ("h:9092,g:9092", "me:p/w@h:9092", "me:p/w", "h?key=pw")
    ... ]
    ['kafka://h:9092,g:9092', 'kafka://**********', 'kafka://me:**********', 'kafka://**********']
    >>> redacted_url("sqlite:///streams/a@b.db")
    'sqlite:///streams/a@b.db'
    """
    scheme, separator, place = url.partition("://")
    if not separator:
        return STARS if "@" in url else url
    if scheme == "sqlite" and place.startswith("/"):
        return url
    shown = STARS if re.search("[@?#]", place) else _ODD_PORT.sub(f":{STARS}", place)
    return f"{scheme}://{shown}"


def without_query(url: str) -> str:
    """Return HTTP addresses, which may be several, up to the first query or fragment: a key may be there.

    >>> without_query("https://h:8081/api?token=pw,https://g"), without_query("http://h:8081")
    ('https://h:8081/api?**********', 'http://h:8081')
    """
    return re.sub("[?#].*", f"?{STARS}", url, flags=re.DOTALL)


def redacted(value: object) -> str:
    """Return the `repr` of a setting's value, without what may be a password in a URL."""
    if isinstance(value, str) and ("://" in value or "@" in value):
        return repr(redacted_url(value))
    text = repr(value)
    return STARS if "://" in text else text
