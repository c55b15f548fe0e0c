"""Run several models over the same events, count the mistakes of each, and find leaks of the label."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any, Final, Self

from service.lab.evaluation import Evaluation, summarise
from service.lab.fields import Field, determines
from service.messages.features import X
from service.messages.labels import TrueLabel
from service.partition.examples import LearnedExamples
from service.partition.factory import check_times, for_file, make_processor
from service.partition.processor import Processed
from service.settings.load import Settings, parse_scalar
from service.stream.protocol import Output, Record

_NEXT_PARAMETER: Final = re.compile(r",(?=\w+=)")
"""A comma before the next parameter; other commas belong to a value."""
_OF_A_CLASS: Final = 250
"""Events that are examined of each class: the first ones."""
_MAX_FEATURES: Final = 500
"""Most features of an examined event: in larger events, such as images, no field leaks the label."""
_MIN_EVENTS: Final = 20
"""Fewest events of each class for a finding that is not chance."""


def model_of(text: str) -> tuple[str, dict[str, Any]]:
    """Split the text of a model into its name and its parameters.

    >>> model_of("arow,r=0.1,full=true")
    ('arow', {'r': 0.1, 'full': True})
    """
    name, *pairs = _NEXT_PARAMETER.split(text)
    return name, {key: parse_scalar(value) for key, _, value in (pair.partition("=") for pair in pairs)}


class Contender:
    """One model that predicts and learns the records of files, as the service does.

    Parameters
    ----------
    name
        Name of the model.
    settings
        Settings of the model and of the mapping.
    observers
        Functions that get the labelled predictions of each batch.
    further
        Further parameters of `make_processor`.

    Attributes
    ----------
    seconds
        Time to read, predict and learn.

    Raises
    ------
    ConfigurationError
        The model cannot be made, or does not support the classes.

    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        *observers: Callable[[LearnedExamples], None],
        **further: Any,  # noqa: ANN401 - as the function has them
    ) -> None:
        check_times(settings)
        self.name = name
        self.seconds = 0.0
        self.evaluation = Evaluation(settings.classes)
        self.observers = [self.evaluation.observe, *observers]
        self.processor = make_processor(for_file(settings), self._observe, **further)

    def process(self, batch: Sequence[Record], processing_time_ms: int | None = None) -> Processed:
        """Predict and learn a batch."""
        started = perf_counter()
        processed = self.processor.process_batch(batch, processing_time_ms)
        self.seconds += perf_counter() - started
        return processed

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The output of `replay --format json`, after the last batch."""
        return summarise(self.processor, self.evaluation, self.seconds)

    def _observe(self, learned: LearnedExamples) -> None:
        for observe in self.observers:
            observe(learned)


class Comparison:
    """Several models over the same records."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        self.contenders = contenders
        self.n_records = 0

    @classmethod
    def of(cls, settings: Settings, models: Sequence[str]) -> Self:
        """Make a comparison of models, given by name, with parameters as in ``name,param=value``."""
        chosen = {each: model_of(each) for each in models}
        return cls(
            [
                Contender(each, settings.model_copy(update={"model": model, "model_params": params}))
                for each, (model, params) in chosen.items()
            ]
        )

    def process(
        self, batch: Sequence[Record], processing_time_ms: int | None = None
    ) -> Sequence[tuple[int, Output]]:
        """Predict and learn a batch with every model; return the first dead letter of each record."""
        self.n_records += len(batch)
        dead_letters: dict[int, Output] = {}
        for contender in self.contenders:
            for position, dead_letter in contender.process(batch, processing_time_ms).dead_letters:
                dead_letters.setdefault(position, dead_letter)
        return sorted(dead_letters.items())

    def ranked(self) -> list[Contender]:
        """Return the models, the fewest mistakes first; models that learned fewer labels are last."""
        return sorted(self.contenders, key=lambda each: (-each.summary["labelled"], each.summary["mistakes"]))

    def rejected(self) -> Counter[str]:
        """Return the number of rejected messages by reason: the maximum over the models."""
        reasons: Counter[str] = Counter()
        for contender in self.contenders:
            reasons |= contender.processor.counters.rejected
        return reasons


class Leaks:
    """Finds fields that leak the label, in the features of events as the model gets them."""

    def __init__(self) -> None:
        self._rows: list[tuple[X, TrueLabel]] = []
        self._counts: Counter[TrueLabel] = Counter()

    def observe(self, learned: LearnedExamples) -> None:
        """Examine the labelled predictions of a batch."""
        for number, truth in enumerate(learned.truths):
            if self._counts[truth] < _OF_A_CLASS and len(x := learned.examples[number].x) <= _MAX_FEATURES:
                self._counts[truth] += 1
                self._rows.append((x, truth))

    def determining(self) -> list[str]:
        """Return the names of the fields; empty if the model hashes them, or for too few events."""
        if len([count for count in self._counts.values() if count >= _MIN_EVENTS]) <= 1:
            return []
        truths = {number: truth for number, (_, truth) in enumerate(self._rows)}
        return [field.keys[0] for field in self._fields() if determines(field, truths)]

    def _fields(self) -> list[Field]:
        """Return the fields that all events, or as many as a class has, have once."""
        values: defaultdict[str, dict[int, Any]] = defaultdict(dict)
        several = set()
        for number, (x, _) in enumerate(self._rows):
            for name, value in x.items():
                field, is_category, category = str(name).partition("=")
                if number in values[field]:
                    several.add(field)
                values[field][number] = category if is_category else value
        sizes = {len(self._rows), *self._counts.values()}
        known = {name: each for name, each in values.items() if len(each) in sizes and name not in several}
        return [Field((name,), len(self._rows), each) for name, each in known.items()]
