"""Names of settings that belong together."""

from __future__ import annotations

from typing import Final

FEATURE_SETTINGS: Final = ("text", "ngrams", "token_pattern", "lowercase", "text_values", "normalize")
"""Settings that say how features are made of a text: the model `auto` makes its own."""
MODEL_SETTINGS: Final = ("model", "model_params", "classes", *FEATURE_SETTINGS, "hash_bits")
"""Settings that a model is made with: a model learned under others is another model."""
TOPIC_SETTINGS: Final = (
    "events_topic",
    "labels_topic",
    "predictions_topic",
    "dead_letters_topic",
    "checkpoints_topic",
    "mixes_topic",
)
