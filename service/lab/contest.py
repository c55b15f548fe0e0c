"""Run several models over the same events, and count the mistakes of each."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

from service.lab.evaluation import Evaluation, summarise
from service.lab.score_curve import ScoreCurve
from service.messages.decoder import Decoder, Incoming
from service.messages.features import FeatureExtractor, RawFeatures, X
from service.messages.labels import Truth
from service.messages.rejection import Rejection
from service.messages.schema import Features
from service.models.names import WITHOUT_TEXT
from service.partition.examples import LearnedExamples
from service.partition.factory import check_times, for_file, make_decoder, make_extractor, make_processor
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


class CachingDecoder(Decoder):
    """Decodes each message once, until it is told to forget them; a message that is refused, each time."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._known: dict[tuple[bytes | None, Record | None], Incoming] = {}
        self.maps_time = decoder.maps_time

    def decode(self, value: bytes | None, record: Record | None = None) -> Incoming:
        """Return the message, the same one each time. Raises `Rejection`."""
        key = value, record
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._decoder.decode(value, record)
        return found

    def place_of_time(self, record: Record) -> str:
        """Say where a record's event time is found, for messages."""
        return self._decoder.place_of_time(record)

    def unfound(self) -> tuple[int, Collection[str]]:
        """Return what settings name and no event had; see `Decoder.unfound`."""
        return self._decoder.unfound()

    def forget(self) -> None:
        """Forget what was decoded."""
        self._known.clear()


class CachingExtractor(FeatureExtractor):
    """Makes the features of each message once, until it is told to forget them."""

    def __init__(self, extractor: FeatureExtractor | RawFeatures) -> None:
        self._extractor = extractor
        self._known: dict[tuple[int, str | None, str | None], tuple[object, X]] = {}
        """By the identity of the message's features, which are kept here so that no others get it."""

    def extract(self, features: Features | None, text: str | None, tenant: str | None = None) -> X:
        """Return x of a message that a `CachingDecoder` decoded, the same each time."""
        key = id(features), text, tenant
        if key not in self._known:
            self._known[key] = features, self._extractor.extract(features, text, tenant)
        return self._known[key][1]

    def forget(self) -> None:
        """Forget what was made."""
        self._known.clear()


class Contender:
    """One model, driven by a processor of its own as `replay` drives it.

    Attributes
    ----------
    name
        Of the model.
    extractor
        Makes its features.
    labelled
        Labelled events so far.
    seconds
        How long it took to predict and learn; reading messages and making features is not counted.

    """

    def __init__(
        self, name: str, settings: Settings, decoder: CachingDecoder, extractor: CachingExtractor
    ) -> None:
        self.name = name
        self.extractor = extractor
        self.seconds = 0.0
        self._evaluation = Evaluation(settings.classes)
        self._summary: dict[str, Any] | None = None
        self.labelled = 0
        self._processor = make_processor(settings, self._observe, decoder=decoder, extractor=extractor)

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
        self._decoder = CachingDecoder(make_decoder(for_file(settings)))
        self._extractors: dict[tuple[type[FeatureExtractor | RawFeatures], bool], CachingExtractor] = {}
        """Models differ in how features are made only by the kind of extractor, and whether a text counts."""
        self.contenders = [self._contender(settings, each) for each in models]
        self.n_records = 0

    def _contender(self, settings: Settings, name: str) -> Contender:
        model, params = model_of(name)
        chosen = settings.model_copy(update={"model": model, "model_params": params})
        made = make_extractor(chosen)
        extractor = self._extractors.setdefault((type(made), model in WITHOUT_TEXT), CachingExtractor(made))
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
        return self._decoder.unfound()

    def truths(self) -> Collection[Truth]:
        """Return the classes that labels were of."""
        return {truth for contender in self.contenders for truth in contender.truths}
