"""Further outputs of `replay`: progress, and the most confident mistakes with explanations.

Progress is a table on stderr at doubling counts, like Vowpal Wabbit's.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, Final

from service.cli.output import echo_line
from service.messages.features import X
from service.messages.labels import TrueLabel, Vocabulary, log_odds_of
from service.models.explanation import FeatureContribution, decide
from service.models.learner import Learner
from service.partition.examples import LabelledPrediction, LearnedExamples
from service.redaction import one_line

_TERMS: Final = 5
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


class ConfidentMistakes:
    """Collects mistakes of a learner. For a late label, the terms are of the model at the label's arrival.

    Parameters
    ----------
    count
        Number of mistakes to keep.
    name_of
        Returns the name of a class.
    learner
        The learner; its methods that learn are replaced by methods that first explain a mistake.

    """

    def __init__(self, count: int, name_of: Callable[[TrueLabel], str], learner: Learner) -> None:
        self._count = count
        self._name_of = name_of
        self._learner = learner
        self._kept: list[tuple[float, int, dict[str, Any]]] = []
        self._n_mistakes = 0
        self._explained: list[tuple[X, TrueLabel, Sequence[FeatureContribution]]] = []
        """Mistakes of the current batch."""
        self._watch()

    def summaries(self) -> list[dict[str, Any]]:
        """Return the mistakes, the most confident first, as `--format json` prints them.

        Each has the terms that contributed most for and against it, the largest first; with two classes,
        positive terms favour the positive class.
        """
        return [mistake for *_, mistake in sorted(self._kept, reverse=True)]

    def observe(self, learned: LearnedExamples) -> None:
        """Examine the labelled predictions of a batch."""
        for step in learned if any(learned.mistakes) else ():
            sureness = log_odds_of(step.example.predicted, step.example.score)
            if step.mistake and self._is_sure(sureness):
                self._n_mistakes += 1
                kept = sureness, -self._n_mistakes, self._mistake(step)
                replace = heapq.heappushpop if len(self._kept) == self._count else heapq.heappush
                replace(self._kept, kept)
        self._explained.clear()

    def _is_sure(self, sureness: float) -> bool:
        return len(self._kept) < self._count or sureness > self._kept[0][0]

    def _mistake(self, step: LabelledPrediction) -> dict[str, Any]:
        example = step.example
        matching = (terms for x, truth, terms in self._explained if truth == step.truth and x == example.x)
        terms: Sequence[FeatureContribution] = next(matching, ())
        return {
            "id": example.event_id,
            "truth": self._name_of(step.truth),
            "predicted": self._name_of(example.predicted),
            "score": example.score,
            **({} if step.probability is None else {"probability": step.probability}),
            "terms": [
                {name: getattr(term, name) for name in ("feature", "value", "contribution")} for term in terms
            ],
        }

    def _watch(self) -> None:
        learner: Any = self._learner
        predict_learn, learn = learner.predict_learn, learner.learn

        def watch_at_once(x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, Any]:
            predicted, score = learner.assess(x)
            if predicted != truth and self._is_sure(log_odds_of(predicted, score)):
                self._explain(x, truth, predicted, score)
            result: tuple[TrueLabel, float, Any] = predict_learn(x, truth, w)
            return result

        def watch_later(x: X, truth: TrueLabel, *memo_and_weight: Any) -> object:  # noqa: ANN401 - as of `learn`
            predicted, score = learner.assess(x)  # what was predicted is unknown: explain another class
            self._explain(x, truth, not truth if isinstance(truth, bool) else predicted, score)
            return learn(x, truth, *memo_and_weight)

        learner.predict_learn, learner.learn = watch_at_once, watch_later

    def _explain(self, x: X, truth: TrueLabel, predicted: TrueLabel, score: float) -> None:
        terms = decide(self._learner, x, predicted, score).contributions
        largest = [term for term in terms if term.contribution][:_TERMS]
        self._explained.append((x, truth, largest))
