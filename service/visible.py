"""Escape text that could act on a terminal.

Escaped is all that Python calls not printable: control characters, line breaks, marks that turn the
direction of writing, halves of surrogate pairs.
"""

from __future__ import annotations


def one_line(text: str) -> str:
    r"""Escape whatever would move the cursor or hide something, line breaks too.

    >>> one_line("née\n\x1b[2J")
    'née\\n\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    r"""Escape the same, but for line breaks and tabs, in such a way that JSON stays the same JSON.

    >>> visible("née\n\x1b[2J\u202e")
    'née\n\\u001b[2J\\u202e'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _json_escape(c) for c in text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
