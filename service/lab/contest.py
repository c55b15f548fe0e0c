"""Run several models over the same events, and count the mistakes of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from time import perf_counter
from typing import Any

from service.lab.evaluation import Evaluation, summarise
from service.messages.features import FeatureExtractor, RawFeatures
from service.messages.labels import Truth
from service.messages.once import OnceDecoder, OnceExtractor
from service.messages.rejection import Rejection
from service.partition.examples import LearnedExamples
from service.partition.factory import for_file, make_decoder, make_extractor, make_processor
from service.settings.load import Settings
from service.stream import Output, Record


class Contender:
    """One model, driven by a processor of its own as `replay` drives it.

    Attributes
    ----------
    name
        Of the model.
    extractor
        Makes its features.
    seconds
        How long it took to predict and learn; reading messages and making features is not counted.

    """

    def __init__(self, name: str, settings: Settings, decoder: OnceDecoder, extractor: OnceExtractor) -> None:
        self.name = name
        self.extractor = extractor
        self.seconds = 0.0
        self._evaluation = Evaluation(settings.classes)
        self._mistaken = bytearray()
        """For each labelled event, whether its prediction was wrong."""
        self._processor = make_processor(settings, self._observe, decoder=decoder, extractor=extractor)

    @property
    def labelled(self) -> int:
        """Labelled events so far."""
        return len(self._mistaken)

    @property
    def rejected(self) -> Counter[str]:
        """Messages that it could not use, by reason."""
        return self._processor.counters.rejected

    @property
    def events_per_second(self) -> float:
        """Events so far for each second that it took."""
        return self._processor.counters.predictions / self.seconds if self.seconds else 0.0

    def mistakes(self, labelled: int | None = None) -> int:
        """Count the mistakes in the first labelled events, or in all."""
        return self._mistaken.count(1, 0, labelled)

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

    def summary(self) -> dict[str, Any]:
        """Return what `replay --format json` prints."""
        processor = self._processor
        return summarise(processor.counters, processor.learner, self._evaluation, self.seconds)

    def error_curve(self, points: int) -> tuple[list[int], list[float]]:
        """Return the share of mistakes among the first events, for at most so many numbers of events."""
        step = -(-self.labelled // points)
        events = [*range(step, self.labelled, step), self.labelled] if self.labelled else []
        return events, [self.mistakes(n) / n for n in events]

    def _observe(self, learned: LearnedExamples) -> None:
        self._mistaken.extend(learned.mistakes())
        self._evaluation.observe(learned)


class Contest:
    """Several models over the same records.

    Parameters
    ----------
    settings
        How messages are read and features made, for all; their model is ignored.
    models
        Names of the models, each with its default parameters.

    Raises
    ------
    ConfigurationError
        A model cannot be made, or does not support the classes.

    """

    def __init__(self, settings: Settings, models: Sequence[str]) -> None:
        self._decoder = OnceDecoder(make_decoder(for_file(settings)))
        self._extractors: dict[type[FeatureExtractor | RawFeatures], OnceExtractor] = {}
        """Models differ in how features are made only by the kind of extractor."""
        self.contenders = [self._contender(settings, name) for name in models]
        self.n_records = 0

    def _contender(self, settings: Settings, name: str) -> Contender:
        chosen = settings.model_copy(update={"model": name, "model_params": {}})
        made = make_extractor(chosen)
        extractor = self._extractors.setdefault(type(made), OnceExtractor(made))
        return Contender(name, chosen, self._decoder, extractor)

    def process(self, batch: Sequence[Record], now_ms: int | None = None) -> Sequence[tuple[int, Output]]:
        """Predict and learn a batch with every model; return the first dead letter of each record."""
        self.n_records += len(batch)
        self._read(batch)
        letters: dict[int, Output] = {}
        for contender in self.contenders:
            for position, letter in contender.process(batch, now_ms):
                letters.setdefault(position, letter)
        return sorted(letters.items())

    def _read(self, batch: Sequence[Record]) -> None:
        """Read the batch ahead of the models, so that none of them is timed for it."""
        self._decoder.forget()
        for extractor in self._extractors.values():
            extractor.forget()
        for record in batch:
            try:
                incoming = self._decoder.decode(record.value, record)
                for extractor in self._extractors.values():
                    extractor.extract(incoming.features, incoming.text, incoming.tenant)
            except Rejection:
                pass  # each processor meets it again, and counts it

    def ranked(self) -> list[Contender]:
        """Return the models, fewest mistakes first; those that could use fewer labelled events come last."""
        return sorted(self.contenders, key=lambda each: (-each.labelled, each.mistakes()))

    def rejected(self) -> Counter[str]:
        """Return the messages that could not be used, by reason: of each, the most that a model refused."""
        found: Counter[str] = Counter()
        for contender in self.contenders:
            found |= contender.rejected
        return found

    def truths(self) -> Collection[Truth]:
        """Return the classes that labels were of."""
        return {truth for contender in self.contenders for truth in contender.truths}
