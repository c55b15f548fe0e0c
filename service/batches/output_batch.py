"""Records to be written. In: answers, and any other `Output`. Out: a sequence of `Output`s.

Where there is a compiler, `output_batch.pyx` stands in for this module: it keeps bytes and numbers, and makes
an `Output` only when one is asked for.
"""

from __future__ import annotations

from typing import SupportsIndex, overload

from service.records import Output


class OutputBatch(list[Output]):
    """Records to be written, in their order.

    Parameters
    ----------
    outputs
        The first of them.

    """

    @property
    def topics(self) -> list[str]:
        """Where they go, in the order in which the topics came first."""
        return list(dict.fromkeys(output.topic for output in self))

    @overload
    def __getitem__(self, place: SupportsIndex) -> Output: ...

    @overload
    def __getitem__(self, place: slice) -> OutputBatch: ...

    def __getitem__(self, place: SupportsIndex | slice) -> Output | OutputBatch:
        """Return an output, or a part of the batch."""
        return (
            OutputBatch(super().__getitem__(place))
            if isinstance(place, slice)
            else super().__getitem__(place)
        )
