"""Records or outputs in bulk. In: either. Out: what sequences of both have in common.

Where there is a compiler, `message_batch.pyx` stands in for this module: it keeps keys and values in blocks
of memory that batches share.
"""

from __future__ import annotations

from typing import Self, SupportsIndex, TypeVar, overload

from service.records import Output, Record

_M = TypeVar("_M", bound=Record | Output)


class MessageBatch(list[_M]):
    """Records or outputs, in their order.

    Parameters
    ----------
    messages
        The first of them.

    """

    @property
    def topics(self) -> list[str]:
        """The topics of the messages, in order of first appearance."""
        return list(dict.fromkeys(message.topic for message in self))

    @overload
    def __getitem__(self, place: SupportsIndex) -> _M: ...

    @overload
    def __getitem__(self, place: slice) -> Self: ...

    def __getitem__(self, place: SupportsIndex | slice) -> _M | Self:
        """Return a record or an output, or a part of the batch."""
        if isinstance(place, slice):
            return type(self)(super().__getitem__(place))
        return super().__getitem__(place)
