"""Names of settings that belong together."""

from __future__ import annotations

from typing import Final

FEATURE_SETTINGS: Final = ("text", "ngrams", "token_pattern", "lowercase", "text_values", "normalize")
"""Settings that say how features are made of a text: the model `auto` makes its own."""
MODEL_SETTINGS: Final = ("model", "model_params", "classes", "class_weights", *FEATURE_SETTINGS, "hash_bits")
"""Settings that a model is made with: a model learned under others is another model."""
JOIN_SETTINGS: Final = (
    "label_timeout_seconds",
    "label_correction_seconds",
    "max_pending",
    "max_pending_bytes",
)
"""Settings that say how long and how many events wait for their labels."""
RECORD_SETTINGS: Final = (
    "max_message_bytes",
    "label_timeout_seconds",
    "label_correction_seconds",
    "max_event_time_ahead_seconds",
    "max_pending",
    "max_pending_bytes",
)
"""Settings that decide what a record does, beside those of the model and of the mapping."""
DECISION_SETTINGS: Final = (
    "decisions",
    "decisions_half_life",
    "costs.false_positive",
    "costs.false_negative",
)
"""Settings of decisions."""
DRIFT_SETTINGS: Final = ("drift.labels_between_false_alarms", "drift.reaction")
"""Settings of drifts."""
TOPIC_SETTINGS: Final = (
    "events_topic",
    "labels_topic",
    "predictions_topic",
    "dead_letters_topic",
    "checkpoints_topic",
    "signals_topic",
)
