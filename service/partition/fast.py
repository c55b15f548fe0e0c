"""Which records are left to compiled code: decided once, when a partition is opened."""

from __future__ import annotations

from typing import Any

from service.messages.decoder import Decoder
from service.messages.features import FeatureExtractor, RawFeatures
from service.models.binary import BinaryLearner
from service.models.learner import Learner
from service.partition.label_learner import LabelLearner

try:
    from service.partition.fast_path import FastPath  # type: ignore[import-not-found]
except ImportError:  # nothing is compiled
    FastPath = None


def fast_path(
    learner: Learner, decoder: Decoder, extractor: FeatureExtractor | RawFeatures, labels: LabelLearner
) -> Any:  # noqa: ANN401 - compiled code has no types for Python
    """Return what processes the records of the common case; None where nothing is common."""
    is_common = (
        type(decoder) is Decoder
        and not decoder.vocabulary.is_by_name
        and isinstance(extractor, FeatureExtractor)
        and isinstance(learner, BinaryLearner)
        and learner.rule is not None
    )
    return FastPath(learner, decoder, extractor, labels) if is_common and FastPath is not None else None
