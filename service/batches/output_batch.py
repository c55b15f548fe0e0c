"""Records to be written. In: answers, and any other `Output`. Out: a sequence of `Output`s.

Where there is a compiler, `output_batch.pyx` stands in for this module: it keeps bytes and numbers, and makes
an `Output` only when one is asked for.
"""

from __future__ import annotations

from service.batches.message_batch import MessageBatch
from service.records import Output


class OutputBatch(MessageBatch[Output]):
    """Records to be written, in their order.

    Parameters
    ----------
    outputs
        The first of them.

    """
