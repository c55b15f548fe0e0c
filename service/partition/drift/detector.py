"""Find where the share of mistakes has risen, with few false alarms and memory that grows by a logarithm.

`detector.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.elementary import log

UNIT: Final = 32
"""Labels in the smallest block: drift is looked for behind each."""
_MOST: Final = 4
"""Blocks of one size; of one more, the oldest two become one."""


class Rise(NamedTuple):
    """A share of mistakes that has risen."""

    before: float
    after: float
    labels_before: int
    labels_after: int


class Detector:
    """Compares the newest labels with those before, cut at each place that it still knows.

    Labels are kept as counts in blocks whose sizes double with age, as those of ADWIN (Bifet and Gavaldà
    2007). A cut is believed if labels that could have come in any order would differ as much, to this side,
    with a chance of at most UNIT / (cuts · labels_between_false_alarms): by Hoeffding's bound (1963, theorems
    1 and 4) e^(-n·kl(q, p)) for n labels of which q were mistakes, of p of all. What lies before a cut is
    then forgotten; a share that has fallen is no drift.

    Parameters
    ----------
    labels_between_false_alarms
        Mean distance of alarms where nothing changes, at least.

    """

    def __init__(self, labels_between_false_alarms: float) -> None:
        self._units_between = labels_between_false_alarms / UNIT
        self._sizes: list[int] = []
        self._mistakes: list[int] = []
        self._n = self._n_wrong = 0

    def observe(self, mistakes: Sequence[bool]) -> list[Rise]:
        """Take the next labels, each a mistake or none; return the rises that they show."""
        found = []
        place = 0
        while len(mistakes) - place >= UNIT - self._n:
            end = place + UNIT - self._n
            self._add(self._n_wrong + sum(mistakes[place:end]))
            self._n = self._n_wrong = 0
            place = end
            if (rise := self._cut()) is not None:
                found.append(rise)
        self._n += len(mistakes) - place
        self._n_wrong += sum(mistakes[place:])
        return found

    def _add(self, n_wrong: int) -> None:
        """Add a block; join the oldest two of each size of which there are too many."""
        sizes, wrong = self._sizes, self._mistakes
        sizes.append(UNIT)
        wrong.append(n_wrong)
        last = len(sizes)
        while last > _MOST and sizes[last - 1 - _MOST] == sizes[last - 1]:
            last -= _MOST
            sizes[last - 1] += sizes[last]
            wrong[last - 1] += wrong[last]
            del sizes[last], wrong[last]

    def _cut(self) -> Rise | None:
        """Forget what lies before the surest cut; return it if the share has risen there."""
        sizes, wrong = self._sizes, self._mistakes
        cuts = len(sizes) - 1
        total, total_wrong = float(sum(sizes)), float(sum(wrong))
        share = total_wrong / total
        spread = total_wrong * (total - total_wrong)
        surest = log(max(1.0, cuts * self._units_between))
        place = 0
        n = n_wrong = 0.0
        for k in range(cuts, 0, -1):
            n += sizes[k]
            n_wrong += wrong[k]
            distance = n_wrong - n * share
            n_before = total - n
            # kl(q, p) <= (q - p)**2 / (p * (1 - p)): most cuts need no logarithm
            if distance * distance * total * total <= surest * min(n, n_before) * spread:
                continue
            after = n * _divergence(n_wrong / n, share)
            before = n_before * _divergence((total_wrong - n_wrong) / n_before, share)
            if max(after, before) > surest:
                surest, place = max(after, before), k
        if not place:
            return None
        n_newest, n_newest_wrong = sum(sizes[place:]), sum(wrong[place:])
        n_oldest, n_oldest_wrong = sum(sizes[:place]), sum(wrong[:place])
        del sizes[:place], wrong[:place]
        rise = Rise(n_oldest_wrong / n_oldest, n_newest_wrong / n_newest, n_oldest, n_newest)
        return rise if rise.after > rise.before else None

    def state(self) -> list[Any]:
        """Return everything as plain values."""
        return [self._sizes[:], self._mistakes[:], self._n, self._n_wrong]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `state` returned."""
        sizes, mistakes, self._n, self._n_wrong = state
        self._sizes, self._mistakes = list(sizes), list(mistakes)


def _divergence(q: float, p: float) -> float:
    """Return kl(q, p) of Bernoulli's distributions; p is neither 0 nor 1."""
    found = q * log(q / p) if q > 0.0 else 0.0
    return found + ((1.0 - q) * log((1.0 - q) / (1.0 - p)) if q < 1.0 else 0.0)
