"""The open cases of one event id, and the outcomes that may belong to any of them.

An outcome names the id of its event only. Where an id comes again after its event was released, the contents
of the outcome decide which event it belongs to, and only once the labels of these events are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from service.audit.matching.cases import Case
from service.audit.matching.outputs import Found


class OpenCases:
    """What is open of one event id.

    Attributes
    ----------
    cases
        The events, in the order in which they were read.
    outcomes
        The outcomes, in the order in which they were read.
    surplus
        Those that the last call of `allot` assigned to no case.

    """

    __slots__ = ("cases", "outcomes", "surplus")

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.outcomes: list[Found] = []
        self.surplus: list[Found] = []

    def allot(self, *, order_is_known: bool) -> None:
        """Match each outcome with a case that it fits in every field; at most one to a case."""
        for case in self.cases:
            case.outcomes = []
        self.surplus = self.outcomes
        self._assign(lambda case, outcome: case.is_answered_by(outcome, order_is_known=order_is_known))

    def allot_all(self, *, order_is_known: bool) -> None:
        """Match every outcome with the case that it fits best, once nothing more is to be read."""
        self.allot(order_is_known=order_is_known)
        if not self.cases:
            return
        self._assign(lambda case, outcome: case.awaits_label and case.has_predicted(outcome))
        self._assign(lambda case, outcome: case.repeats > 0 and case.agrees_with_a_label(outcome))
        self._assign(lambda case, _: case.due is not None)
        self._assign(lambda case, _: case.awaits_label)
        self.cases[-1].outcomes += self.surplus
        self.surplus = []

    def forget(self, case: Case) -> None:
        """Remove a case and its outcomes."""
        self.cases.remove(case)
        self.outcomes = _without(self.outcomes, case.outcomes)

    def _assign(self, fits: Callable[[Case, Found], bool]) -> None:
        """Match the rest with the first fitting case that has no outcome."""
        if not self.surplus:
            return
        for outcome in self.surplus:
            waiting = (case for case in self.cases if not case.outcomes and fits(case, outcome))
            if (case := next(waiting, None)) is not None:
                case.outcomes.append(outcome)
        self.surplus = _without(self.surplus, [each for case in self.cases for each in case.outcomes])


def _without(outcomes: Iterable[Found], removed: Iterable[Found]) -> list[Found]:
    places = {each.place for each in removed}
    return [each for each in outcomes if each.place not in places]
