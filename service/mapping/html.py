"""The text of an HTML document, in time that is linear in its length."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

_OPENING: Final = re.compile(r"<(?:(!--)|[!?]|/?([A-Za-z][A-Za-z0-9]*))")
_HIDDEN: Final = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "head")}
"""Elements whose content nobody reads, with what ends them."""
_WITHIN_WORDS: Final = frozenset({"a", "b", "em", "font", "i", "s", "span", "strong", "u", "wbr"})
"""Elements that may begin and end in the middle of a word."""


def text_of_html(html: str) -> str:
    """Return the text that a reader sees, its white space as single spaces.

    What never ends, as a comment or a tag, takes the rest with it.

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
        at = _behind(html, "-->" if opening[1] else ">", opening.end())
        name = (opening[2] or "").lower()
        if name not in _WITHIN_WORDS:
            pieces.append(" ")
        if name in _HIDDEN and html[start + 1] != "/":
            closing = _HIDDEN[name].search(html, at)
            at = closing.start() if closing else len(html)
    return " ".join(unescape("".join([*pieces, html[at:]])).split())


def _behind(html: str, end: str, start: int) -> int:
    found = html.find(end, start)
    return len(html) if found < 0 else found + len(end)
