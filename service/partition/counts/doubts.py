"""Reasons why the figures of a run may mislead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from service.messages.labels import Truth, Vocabulary
from service.partition.counts.totals import Totals
from service.redaction import one_line

_MOST_REFUSED_RATIO: Final = 0.05
MOST_ASTRAY_RATIO: Final = 0.05
"""Of labels without an event."""
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


def doubts_of_labels(totals: Totals, strays: Iterable[str]) -> str:
    """Name many labels that found no event, with the ids of some, and events that gave way to newer ones."""
    found, astray = [], totals.late + totals.orphaned
    if astray > MOST_ASTRAY_RATIO * totals.received:
        ids = ", ".join(one_line(repr(each)) for each in [*dict.fromkeys(strays)][-_MOST_NAMED:])
        skipped = "be of events that events.where or start_from skips, " if totals.skipped else ""
        found.append(
            f"{astray:,} of {totals.received:,} labels found no event: labels may come later than "
            f"label_timeout_seconds and label_correction_seconds, {skipped}or name other ids: {ids}"
        )
    if totals.displaced:
        found.append(
            f"{totals.displaced:,} events gave way to newer ones while a label of them could still come: "
            "raise max_pending and max_pending_bytes"
        )
    return "; ".join(found)
