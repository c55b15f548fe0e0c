"""When to learn events without a label: after delays drawn from the delays of arrived labels.

If only one class is ever labelled, and late, a fixed timeout distorts the share of the classes among the
learned events. So an event without a label is learned as the timeout's class after a delay drawn from the
delays of labels: at each age, the learned share of both classes is the same.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from typing import Any, Final

from service.partition.examples import Example

_MAX_DELAYS: Final = 1000
_SHARE_OF_AGE: Final = 0.1
"""Fraction of the stream's age that is added to a drawn delay: a longer history allows a longer wait."""
_SETTLED_MS: Final = -1
"""Replaces an example's due time once it was due."""


class MatchedDelays:
    """The delays of the latest labels, and the events that wait to be learned without a label.

    Parameters
    ----------
    timeout_ms
        The longest delay.

    """

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._delays: deque[int] = deque()
        """The last delays in milliseconds, oldest first."""
        self._sorted: list[int] = []
        self._n_delays = 0
        """Number of delays noted since the start."""
        self._first_ms: int | None = None
        self._due: list[tuple[int, int, Example]] = []
        """A heap of the waiting examples; those due at the same time come in order of arrival."""
        self._n_kept = 0

    def schedule(self, example: Example, event_time_ms: int) -> None:
        """Draw when to learn an example without a label."""
        if self._first_ms is None:
            self._first_ms = example.timestamp_ms
        if example.truth is None:
            self._draw(example, event_time_ms)
            heappush(self._due, (example.due_ms, self._n_kept, example))
            self._n_kept += 1

    def take_due(self, timestamp_ms: int, kept: Mapping[str, Example]) -> Iterator[tuple[Example, float]]:
        """Yield the examples to learn before event time advances to `timestamp_ms`.

        With each comes the share of labels that arrive earlier than at its age; 1 while no delay is known.
        """
        while self._due and self._due[0][0] < timestamp_ms:
            _, _, example = heappop(self._due)
            if example.truth is None and kept.get(example.event_id) is example:
                n_earlier = bisect_right(self._sorted, example.due_ms - example.timestamp_ms)
                example.due_ms = _SETTLED_MS
                yield example, n_earlier / len(self._sorted) if self._sorted else 1.0
        if len(self._due) > 2 * len(kept) + _MAX_DELAYS:  # many left before they were due
            self.replace_waiting(kept.values())

    def add_delay(self, delay_ms: int, kept: Iterable[Example], event_time_ms: int) -> bool:
        """Note the delay of a label; return whether the waiting examples got new due times.

        They do whenever the number of delays has doubled, because short delays are seen first.
        """
        if len(self._delays) == _MAX_DELAYS:
            oldest = self._delays.popleft()
            del self._sorted[bisect_right(self._sorted, oldest) - 1]
        self._delays.append(delay_ms)
        insort(self._sorted, delay_ms)
        self._n_delays += 1
        if self._n_delays & (self._n_delays - 1) or self._n_delays > _MAX_DELAYS:
            return False
        waiting = [each for each in kept if each.truth is None and each.due_ms != _SETTLED_MS]
        for example in waiting:
            self._draw(example, event_time_ms)
        self.replace_waiting(waiting)
        return True

    def replace_waiting(self, kept: Iterable[Example]) -> None:
        """Replace the waiting examples by these, in order of arrival."""
        self._due, self._n_kept = [], 0
        for example in kept:
            if example.truth is None and example.due_ms != _SETTLED_MS:
                example.due_ms = example.due_ms or example.timestamp_ms + self._timeout_ms
                self._due.append((example.due_ms, self._n_kept, example))
                self._n_kept += 1
        heapify(self._due)

    def state(self) -> dict[str, Any]:
        """Return everything but the examples, as plain values."""
        return {"delays": [*self._delays], "labels": self._n_delays, "first_ms": self._first_ms}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned; the examples come from the join."""
        self._delays, self._n_delays = deque(state["delays"]), state["labels"]
        self._sorted, self._first_ms = sorted(self._delays), state["first_ms"]

    def _draw(self, example: Example, event_time_ms: int) -> None:
        """Set an example's due time: a quantile of the delays that depends on its id alone."""
        delay_ms = self._timeout_ms
        if self._sorted and self._first_ms is not None:
            digest = blake2b(example.event_id.encode(errors="surrogatepass"), digest_size=8).digest()
            index = int.from_bytes(digest) * len(self._sorted) >> 64
            waits_ms = int(_SHARE_OF_AGE * max(0, event_time_ms - self._first_ms))
            delay_ms = min(delay_ms, self._sorted[index] + waits_ms)
        example.due_ms = example.timestamp_ms + delay_ms
