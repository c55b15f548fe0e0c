"""Kept examples as MessagePack. In: examples by event id. Out: the bytes that stand for them in a snapshot.

This is the interpreted form; `packed_examples.pyx` is the compiled one, which writes the same bytes without
an object for each feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perceptron_core.formats.model_bytes import pack
from service.partition.example import Example, fields_of


def pack_examples(examples: Mapping[str, Example]) -> Sequence[bytes]:
    """Write [id, *fields] of each example, in order, as one MessagePack array; return its pieces."""
    return [pack([(event_id, *fields_of(example)) for event_id, example in examples.items()])]
