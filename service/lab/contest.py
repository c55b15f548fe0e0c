"""Run several models over the same events, and count the mistakes of each."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

from service.lab.evaluation import Evaluation, ScoreCurve, summarise
from service.messages.labels import Truth
from service.partition.examples import LearnedExamples
from service.partition.factory import check_times, for_file, make_processor
from service.settings.load import Settings, parse_scalar
from service.stream.protocol import Output, Record

ORDERS: Final = ("mistakes", "auc", "average_precision", "log_loss", "cost", "seconds")
"""Figures of a summary that models may be ranked by."""
_MORE_IS_BETTER: Final = ("auc", "average_precision")
_NEXT_PARAMETER: Final = re.compile(r",(?=\w+=)")
"""Other commas belong to a value."""


def model_of(text: str) -> tuple[str, dict[str, Any]]:
    """Split what names a model and its parameters.

    >>> model_of("arow,r=0.1,full=true")
    ('arow', {'r': 0.1, 'full': True})
    """
    name, *pairs = _NEXT_PARAMETER.split(text)
    return name, {key: parse_scalar(value) for key, _, value in (pair.partition("=") for pair in pairs)}


def rank(summary: Mapping[str, Any], by: str) -> tuple[float, ...]:
    """Return what is less for a better run: by one of `ORDERS`, and then by its mistakes."""
    figure = summary.get(by, math.inf)
    return (
        -summary["labelled"],
        -figure if by in _MORE_IS_BETTER and by in summary else figure,
        summary["mistakes"],
    )


class Contender:
    """One model, driven by a processor of its own as `replay` drives it.

    Attributes
    ----------
    name
        Of the model.
    labelled
        Labelled events so far.
    seconds
        How long it took to read, predict and learn.

    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.seconds = 0.0
        self._evaluation = Evaluation(settings.classes)
        self._summary: dict[str, Any] | None = None
        self.labelled = 0
        self._processor = make_processor(settings, self._observe)

    @property
    def rejected(self) -> Counter[str]:
        """Messages that it could not use, by reason."""
        return self._processor.counters.rejected

    def process(self, batch: Sequence[Record], now_ms: int | None = None) -> Sequence[tuple[int, Output]]:
        """Predict and learn a batch; return the dead letters."""
        began = perf_counter()
        letters = self._processor.process_batch(batch, now_ms).dead_letters
        self.seconds += perf_counter() - began
        return letters

    @property
    def truths(self) -> Collection[Truth]:
        """The classes that labels were of."""
        return self._processor.counters.confusion.truths

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        return self._processor.decoder.unfound()

    def summary(self) -> dict[str, Any]:
        """Return what `replay --format json` prints."""
        if self._summary is None or self._summary["labelled"] != self.labelled:
            self._summary = summarise(self._processor, self._evaluation, self.seconds)
        return self._summary

    def curve(self) -> ScoreCurve | None:
        """Rank the scores; None unless there are examples of exactly two classes."""
        return self._evaluation.curve()

    def _observe(self, learned: LearnedExamples) -> None:
        self.labelled += len(learned)
        self._evaluation.observe(learned)


class Contest:
    """Several models over the same records.

    Parameters
    ----------
    settings
        How messages are read and features made, for all; their model is ignored.
    models
        Each a name, with parameters if it has others than its defaults: name,param=value.

    Raises
    ------
    ConfigurationError
        A model cannot be made, or does not support the classes.

    """

    def __init__(self, settings: Settings, models: Sequence[str]) -> None:
        check_times(settings)
        self.contenders = []
        self.n_records = 0
        for each in models:
            model, params = model_of(each)
            chosen = settings.model_copy(update={"model": model, "model_params": params})
            self.contenders.append(Contender(each, for_file(chosen)))

    def process(self, batch: Sequence[Record], now_ms: int | None = None) -> Sequence[tuple[int, Output]]:
        """Predict and learn a batch with every model; return the first dead letter of each record."""
        self.n_records += len(batch)
        letters: dict[int, Output] = {}
        for contender in self.contenders:
            for position, letter in contender.process(batch, now_ms):
                letters.setdefault(position, letter)
        return sorted(letters.items())

    def ranked(self, by: str = "mistakes") -> list[Contender]:
        """Return the models, the best first by one of `ORDERS`; those without such a figure come last.

        So do, before that, those that could use fewer labelled events.
        """
        return sorted(self.contenders, key=lambda each: rank(each.summary(), by))

    def rejected(self) -> Counter[str]:
        """Return the messages that could not be used, by reason: of each, the most that a model refused."""
        found: Counter[str] = Counter()
        for contender in self.contenders:
            found |= contender.rejected
        return found

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        return self.contenders[0].unfound()

    def truths(self) -> Collection[Truth]:
        """Return the classes that labels were of."""
        return {truth for contender in self.contenders for truth in contender.truths}
