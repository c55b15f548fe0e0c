"""Reasons why the figures of a run may mislead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from service.messages.labels import Truth, Vocabulary

_MOST_REFUSED_RATIO: Final = 0.05
_MOST_NAMED: Final = 3


def doubts(refused: int, records: int, classes: Sequence[str], truths: Collection[Truth]) -> str:
    """Name many refused records, and classes that no label was of; empty if there is nothing to name."""
    found = []
    if refused > _MOST_REFUSED_RATIO * records:
        found.append(f"{refused:,} of {records:,} records ({refused / records:.1%}) were refused")
    truth_of = Vocabulary(classes).truth
    if unseen := [repr(name) for name in classes if truth_of(name) not in truths]:
        more = len(unseen) - _MOST_NAMED
        named = unseen if more <= 0 else [*unseen[:_MOST_NAMED], f"{more:,} others"]
        found.append(f"no label is of the class {' or '.join(named)}")
    return "; ".join(found)
