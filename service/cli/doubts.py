"""Whether the figures of a run may mislead. In: what it counted. Out: a last line on stderr, an exit code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from service.cli.app import report_warning
from service.errors import FAILURE
from service.messages.labels import Truth, Vocabulary

_MOST_REFUSED_RATIO: Final = 0.05
_MOST_NAMED: Final = 3


def warn_of_doubts(refused: int, records: int, classes: Sequence[str], truths: Collection[Truth]) -> int:
    """Warn of many refused records and of classes that no label was of; return the exit code."""
    found = []
    if refused > _MOST_REFUSED_RATIO * records:
        found.append(f"{refused:,} of {records:,} records ({refused / records:.1%}) were refused")
    truth_of = Vocabulary(classes).truth
    if unseen := [repr(name) for name in classes if truth_of(name) not in truths]:
        more = len(unseen) - _MOST_NAMED
        named = unseen if more <= 0 else [*unseen[:_MOST_NAMED], f"{more:,} others"]
        found.append(f"no label is of the class {' or '.join(named)}")
    if not found:
        return 0
    report_warning(f"these figures may mislead: {'; '.join(found)}")
    return FAILURE
