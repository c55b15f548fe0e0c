"""Further outputs of `replay`: predictions, and the most confident mistakes with explanations."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from service.messages.features import X
from service.messages.labels import TrueLabel, log_odds_of
from service.messages.schema import PREDICTION, labels_in
from service.models.explanation import Contribution, decide
from service.models.learner import Learner
from service.models.model_file import write_atomically
from service.partition.examples import LabelledPrediction, LearnedExamples
from service.stream.protocol import Output

_TERMS: Final = 5
COLUMNS: Final = tuple(field.name for field in PREDICTION)


class PredictionFile:
    """Collects predictions, adds the truth when a label comes, and writes them at the end.

    Parameters
    ----------
    path
        The NDJSON file, whatever its extension.
    topic
        Topic of the predictions.

    """

    def __init__(self, path: Path, topic: str) -> None:
        self._path = path
        self._topic = topic
        self._rows: list[dict[str, Any]] = []
        self._by_id: dict[str, dict[str, Any]] = {}

    def observe(self, outputs: Iterable[Output], *, are_timed: bool) -> None:
        """Collect the predictions and outcomes of a batch."""
        for output in outputs:
            if output.topic != self._topic:
                continue
            answer = json.loads(output.value or b"")
            if "predicted" in answer:
                row = self._by_id[answer["id"]]
                row["truth"], row["mistake"] = labels_in(answer)[1], answer["mistake"]
                continue
            row = {name: answer.get(name) for name in COLUMNS}
            if not are_timed:
                row["event_time_ms"] = None
            self._rows.append(row)
            self._by_id[answer["id"]] = row

    def write(self) -> int:
        """Write the rows, in the order of the events; return how many. Raises `ServiceError`."""
        write_atomically(self._path, "".join(json.dumps(row) + "\n" for row in self._rows).encode())
        return len(self._rows)


class ExplainedMistake(NamedTuple):
    """A wrong prediction, with the largest contributions for and against it."""

    event_id: str
    truth: TrueLabel
    predicted: TrueLabel
    score: float
    probability: float | None
    terms: Sequence[Contribution]
    """Terms, the largest first; with two classes, a positive term favours the positive class."""


class ConfidentMistakes:
    """Watches a learner for mistakes. For a late label, the terms are of the model when the label came.

    Parameters
    ----------
    count
        Number of mistakes to keep.
    learner
        Its methods that learn are replaced by ones that first explain what is a mistake.

    """

    def __init__(self, count: int, learner: Learner) -> None:
        self._count = count
        self._learner = learner
        self._kept: list[tuple[float, int, ExplainedMistake]] = []
        self._n_mistakes = 0
        self._explained: list[tuple[X, TrueLabel, Sequence[Contribution]]] = []
        """Of the batch."""
        self._watch()

    def found(self) -> list[ExplainedMistake]:
        """Return the mistakes, the most confident first."""
        return [mistake for *_, mistake in sorted(self._kept, reverse=True)]

    def observe(self, learned: LearnedExamples) -> None:
        """Take the labelled predictions of a batch."""
        for step in learned if any(learned.mistakes) else ():
            if step.mistake and self._is_sure(sureness := log_odds_of(step.predicted, step.score)):
                self._n_mistakes += 1
                kept = sureness, -self._n_mistakes, self._mistake(step)
                replace = heapq.heappushpop if len(self._kept) == self._count else heapq.heappush
                replace(self._kept, kept)
        self._explained.clear()

    def _is_sure(self, sureness: float) -> bool:
        return len(self._kept) < self._count or sureness > self._kept[0][0]

    def _mistake(self, step: LabelledPrediction) -> ExplainedMistake:
        found = (terms for x, truth, terms in self._explained if truth == step.truth and x == step.x)
        return ExplainedMistake(
            step.event_id, step.truth, step.predicted, step.score, step.probability, next(found, ())
        )

    def _watch(self) -> None:
        learner: Any = self._learner
        predict_learn, learn = learner.predict_learn, learner.learn

        def watch_at_once(x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, Any]:
            predicted, score = learner.assess(x)
            if predicted != truth and self._is_sure(log_odds_of(predicted, score)):
                self._explain(x, truth, predicted, score)
            found: tuple[TrueLabel, float, Any] = predict_learn(x, truth, w)
            return found

        def watch_later(x: X, truth: TrueLabel, *memo_and_weight: Any) -> object:  # noqa: ANN401 - as of `learn`
            self._explain_later(x, truth)
            return learn(x, truth, *memo_and_weight)

        learner.predict_learn, learner.learn = watch_at_once, watch_later

    def _explain_later(self, x: X, truth: TrueLabel) -> None:
        """Explain what is a mistake if the prediction, which is not known here, was another class."""
        predicted, score = self._learner.assess(x)
        self._explain(x, truth, not truth if isinstance(truth, bool) else predicted, score)

    def _explain(self, x: X, truth: TrueLabel, predicted: TrueLabel, score: float) -> None:
        terms = decide(self._learner, x, predicted, score).contributions
        largest = [each for each in terms if each.contribution][:_TERMS]
        self._explained.append((x, truth, largest))
