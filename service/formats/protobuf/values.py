"""Count the values of a Protobuf message before it is parsed.

A message that lies in another one takes two bytes, and each of its fields has a value: with hundreds of
fields, parsing alone would take thousands of times the memory of the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.formats.plain_values import TooManyValues, most_values
from service.formats.protobuf.files import UnusableSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.descriptor_pool import DescriptorPool

_SMALLEST: Final = 2
"""Bytes of a message within another."""
_VARINT_BITS: Final = 70
_VARINT, _FIXED64, _BYTES, _BEGIN, _END, _FIXED32 = range(6)
"""Types of a field on the wire: the lowest three bits of its tag."""


class _Kind:
    """A type of message: how many fields it has, and which of them are messages, by number."""

    def __init__(self) -> None:
        self.n_fields = 0
        self.messages: dict[int, _Kind] = {}


_UNKNOWN: Final = _Kind()


class ValueCounter:
    """Counts the values of messages.

    Parameters
    ----------
    descriptor
        Of the messages.
    pool
        Where it is from.

    """

    def __init__(self, descriptor: Descriptor, pool: DescriptorPool) -> None:
        kinds: dict[str, _Kind] = {}
        to_do: list[Descriptor] = []

        def kind_of(found: Descriptor) -> _Kind:
            if found.full_name not in kinds:
                kinds[found.full_name] = _Kind()
                to_do.append(found)
            return kinds[found.full_name]

        self._kind = kind_of(descriptor)
        while to_do:
            each = to_do.pop()
            if each.GetOptions().message_set_wire_format:
                raise UnusableSchema(f"{each.full_name} is a message set")
            fields = [*each.fields, *(pool.FindAllExtensions(each) if each.is_extendable else ())]
            kind = kinds[each.full_name]
            kind.n_fields = len(fields)
            kind.messages = {f.number: kind_of(f.message_type) for f in fields if f.message_type is not None}
        inner = [each for kind in kinds.values() for each in kind.messages.values()]
        self._most_fields = max((kind.n_fields for kind in inner), default=0)

    def check(self, data: bytes) -> None:
        """Raise `TooManyValues` for a message that holds more than `most_values`."""
        n_bytes = len(data)
        most = most_values(n_bytes)
        if self._kind.n_fields + self._most_fields * (n_bytes // _SMALLEST) <= most:
            return  # as nearly always
        try:
            count = self._count(data, most)
        except IndexError:
            return  # this is no message: the parser says so
        if count > most:
            raise TooManyValues(n_bytes)

    def _count(self, data: bytes, most: int) -> int:
        """Return how many fields all messages have, or one above `most`; IndexError if there is no end."""
        at, end, kind, count = 0, len(data), self._kind, self._kind.n_fields
        around: list[tuple[int, _Kind]] = []
        """The messages that this one lies in, and where they end."""
        while count <= most:
            if at >= end:
                if not around:
                    break
                end, kind = around.pop()
                continue
            tag, at = varint(data, at)
            follows, inner = tag & 7, kind.messages.get(tag >> 3, _UNKNOWN)
            if follows == _BYTES:
                size, at = varint(data, at)
                if inner is _UNKNOWN:
                    at += size
                    continue
                around.append((end, kind))
                end, kind, count = at + size, inner, count + inner.n_fields
            elif follows == _BEGIN:
                around.append((end, kind))
                kind, count = inner, count + inner.n_fields
            elif follows == _END and around:
                end, kind = around.pop()
            elif follows == _VARINT:
                _, at = varint(data, at)
            else:
                at += 8 if follows == _FIXED64 else 4
        return count


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a position, and where it ends; IndexError if there is none."""
    value = shift = 0
    while shift < _VARINT_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the last one
            return value, at
        shift += 7
    raise IndexError("a number of more than ten bytes")
