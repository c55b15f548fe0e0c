"""Properties of predictions that may only grow, such as the number of partitions.

Partitions are added to the predictions topic, and later releases add fields to predictions; neither is ever
removed. So a later prediction has whatever an earlier one of the same partition required.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeVar

from service.audit.findings import Fault, Finding
from service.audit.matching.outputs import Found
from service.audit.matching.window import Expected
from service.messages.schema import PREDICTION
from service.partitioner import partition_for_key

_FIELDS: Final = [field.name for field in PREDICTION if field.written.lasting]
_Key = TypeVar("_Key", int, str)


class _Latest(NamedTuple):
    offset: int
    """Of the event."""
    found: Found


class OneWayChanges:
    """Takes note of which partitions and fields were in use when.

    Parameters
    ----------
    n_partitions
        How many partitions the predictions topic has by now.

    """

    def __init__(self, n_partitions: int) -> None:
        self._n_partitions = n_partitions
        self._first_in: defaultdict[int, dict[int, int]] = defaultdict(dict)
        """The first event, by partition, whose prediction lies in one that its id is sent to now."""
        self._last_of_fewer: defaultdict[int, dict[int, _Latest]] = defaultdict(dict)
        """The last, by partition, whose prediction lies where it belonged to among so many partitions."""
        self._first_with: defaultdict[int, dict[str, int]] = defaultdict(dict)
        self._last_without: defaultdict[int, dict[str, _Latest]] = defaultdict(dict)

    def note(self, expected: Expected, found: Found) -> None:
        """Note an event and its prediction."""
        number, offset = expected.event.place.partition, expected.event.place.offset or 0
        partition = found.place.partition
        if partition == expected.case.lane:
            _keep_first(self._first_in[number], partition, offset)
        else:
            _keep_last(self._last_of_fewer[number], self._most_partitions(found), _Latest(offset, found))
        for name in _FIELDS:
            if name in found.fields:
                _keep_first(self._first_with[number], name, offset)
            else:
                _keep_last(self._last_without[number], name, _Latest(offset, found))

    def _most_partitions(self, found: Found) -> int:
        """Return among how many partitions at most a prediction belongs where it lies; 0 if among none."""
        key, partition = found.event_id.encode(), found.place.partition
        fewer = range(self._n_partitions - 1, partition, -1)
        return next((n for n in fewer if partition_for_key(key, n) == partition), 0)

    def astray(self) -> Iterator[Finding]:
        """Yield predictions in partitions that their ids were not sent to."""
        for number, latest in self._last_of_fewer.items():
            for n_partitions, (offset, found) in latest.items():
                first = (at for q, at in self._first_in[number].items() if q >= n_partitions)
                if not n_partitions or any(at < offset for at in first):
                    its_own = partition_for_key(found.event_id.encode(), self._n_partitions)
                    message = f"its id belongs to partition {its_own}"
                    yield Finding(Fault.WRONG, found.place, found.event_id, message)

    def lacking(self, number: int) -> Iterator[Finding]:
        """Yield predictions of a partition that lack a field which earlier ones have."""
        for name, (offset, found) in self._last_without[number].items():
            if offset > self._first_with[number].get(name, offset):
                message = f"it has no {name}, which earlier predictions have"
                yield Finding(Fault.WRONG, found.place, found.event_id, message)


def _keep_first(firsts: dict[_Key, int], key: _Key, offset: int) -> None:
    firsts[key] = min(offset, firsts.get(key, offset))


def _keep_last(latest: dict[_Key, _Latest], key: _Key, last: _Latest) -> None:
    if key not in latest or last.offset > latest[key].offset:
        latest[key] = last
