"""Show the progress of learning on stderr, in a table at doubling counts like Vowpal Wabbit's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from service.cli.output import echo_line
from service.messages.labels import Vocabulary
from service.partition.examples import LabelledPrediction, LearnedExamples
from service.redaction import one_line

_HEADER: Final = """\
    events   mistakes    error    error        score  truth      predicted  features
               so far   recent   so far"""


class ProgressTable:
    """Rows at 1, 2, 4, 8, … labelled events: the mistakes so far, and the present example.

    ``error recent`` is the share of mistakes since the preceding row, ``error so far`` of all events.

    Parameters
    ----------
    classes
        Names of the two classes, the negative one first, if they have names.

    """

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self._name = Vocabulary(classes).name
        self._events = 0
        self._mistakes = 0
        self._shown = (0, 0)
        self._next_row = 1

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions; show a row at each power of two."""
        mistakes, counted = learned.mistakes, 0
        while (due := counted + self._next_row - self._events) <= len(mistakes):
            self._count(mistakes[counted:due])
            self._row(self._example(learned[due - 1]))
            self._next_row *= 2
            counted = due
        self._count(mistakes[counted:])

    def finish(self) -> None:
        """Show the final counts, unless the last row shows them."""
        if self._events > self._shown[0]:
            self._row("")

    def _count(self, mistakes: Sequence[bool]) -> None:
        self._events += len(mistakes)
        self._mistakes += sum(mistakes)

    def _example(self, step: LabelledPrediction) -> str:
        truth, predicted = (_cell(self._name(label)) for label in (step.truth, step.example.predicted))
        return f"{step.example.score:>12.6g}  {truth} {predicted} {len(step.example.x):>8}"

    def _row(self, example: str) -> None:
        events, mistakes = self._events, self._mistakes
        events_before, mistakes_before = self._shown
        if not events_before:
            for line in _HEADER.splitlines():
                echo_line(line)
        recent = (mistakes - mistakes_before) / (events - events_before)
        counts = f"{events:>10} {mistakes:>10} {recent:>8.4f} {mistakes / events:>8.4f}"
        echo_line(f"{counts} {example}".rstrip())
        self._shown = (events, mistakes)


def _cell(name: str) -> str:
    """Fit the name of a class into its column."""
    name = one_line(name)
    return f"{name if len(name) <= 10 else name[:9] + '…':<10}"  # noqa: PLR2004 - the column's width
