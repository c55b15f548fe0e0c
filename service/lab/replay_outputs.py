"""A further output of `replay`: the most confident mistakes with explanations."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, Final

from service.messages.features import X
from service.messages.labels import TrueLabel, log_odds_of
from service.models.explanation import FeatureContribution, decide
from service.models.learner import Learner
from service.partition.examples import LabelledPrediction, LearnedExamples

_TERMS: Final = 5


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
