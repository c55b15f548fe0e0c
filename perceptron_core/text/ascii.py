"""Lower-case and encode ASCII text without an object for it.

This is the interpreted form; `ascii.pyx` is the compiled one, which makes no object.
"""

from __future__ import annotations


def copy_ascii(text: str, room: bytearray, lowercase: bool) -> bool:
    """Copy a text into `room`, which must be long enough; False, and nothing copied, if it is not ASCII."""
    if not text.isascii():
        return False
    room[: len(text)] = (text.lower() if lowercase else text).encode()
    return True
