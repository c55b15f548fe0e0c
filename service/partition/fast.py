"""Which records are left to compiled code: decided once, when a partition is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from service.mapping.decoder import Decoder
from service.messages.features import FeatureExtractor, RawFeatures, X
from service.models.learner import Learner
from service.partition.label_learner import LabelLearner
from service.partition.parts.part import Part

try:
    from service.partition.fast_path import FastPath  # type: ignore[import-not-found]
except ImportError:  # nothing is compiled
    FastPath = None


def fast_path(
    learner: Learner,
    decoder: Decoder,
    extractor: FeatureExtractor | RawFeatures,
    labels: LabelLearner,
    predicting: Sequence[Part],
) -> Any:  # noqa: ANN401 - compiled code has no types for Python
    """Return what processes the records of the common case; None where nothing is common."""
    is_common = (
        type(decoder) is Decoder
        and decoder.has_own_schema
        and not decoder.vocabulary.is_by_name
        and isinstance(extractor, FeatureExtractor)
        and learner.rule is not None
    )
    if not is_common or FastPath is None:
        return None
    return FastPath(learner, decoder, extractor, labels, predicting)


def fast_extraction(
    learner: Learner, decoder: Decoder, extractor: FeatureExtractor | RawFeatures
) -> Callable[..., X]:
    """Return what makes x of an event: as arrays, where there are any and the learner takes them."""
    if FastPath is None or not isinstance(extractor, FeatureExtractor):
        return extractor.extract
    # Those of several classes read a dictionary as quickly, unless it has hundreds of numbers.
    takes_values = learner.rule is not None or (decoder.vectors is not None and learner.takes_vectors)
    return extractor.extract_values if takes_values else extractor.extract
