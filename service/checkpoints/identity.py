"""The settings that a model depends on. In: settings, a snapshot. Out: what snapshots name, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from perceptron_core.formats.model_bytes import pack, unpack
from service.checkpoints.snapshot import Snapshot
from service.errors import SettingsDiffer
from service.messages.labels import BINARY
from service.settings.fields import Settings
from service.settings.forms import written
from service.settings.mapping import KEPT_MAPPING, MAPPED_FEATURES, MAPPING, mapping_given
from service.settings.names import MODEL_SETTINGS

_STREAM_SETTINGS: Final = (
    "events_topic",
    "labels_topic",
    "max_message_bytes",
    "label_timeout_seconds",
    "max_event_time_ahead_seconds",
    "max_pending",
    "max_pending_bytes",
    "share_model",
)
"""Settings that decide what a record does: a batch must be learned again under those it was learned under."""

_OF_A_MODEL: Final = (*MODEL_SETTINGS, *MAPPED_FEATURES)
_OF_RECORDS: Final = (*_STREAM_SETTINGS, *(name for name in MAPPING if name not in MAPPED_FEATURES))

KEPT_SETTINGS: Final = frozenset((*MODEL_SETTINGS, *_STREAM_SETTINGS, *KEPT_MAPPING))
"""What `identity` may list."""


def identity(settings: Settings) -> dict[str, Any]:
    """List the settings that a state depends on."""
    names = (*MODEL_SETTINGS, *_STREAM_SETTINGS)
    plain = {name: getattr(settings, name) for name in names}
    found: dict[str, Any] = unpack(pack(plain | mapping_given(settings.events, settings.labels)))
    return found  # as it will come back from a snapshot


def check_identity(snapshot: Snapshot, settings: Settings, *, n_batches: int) -> None:
    """Refuse to go on under settings that would make another model."""
    unmapped = dict.fromkeys(MAPPING, ())
    wanted = unmapped | identity(settings)
    unshared = {"share_model": False}
    made = {**wanted, **unmapped, **unshared, **snapshot.identity}  # an earlier release lacks newer ones
    for name in (*_OF_A_MODEL, *_OF_RECORDS) if n_batches else _OF_A_MODEL:
        if name == "classes" and _names_two_classes(snapshot.identity, wanted) and not n_batches:
            continue
        if made[name] != wanted[name]:
            may_change = name in _OF_RECORDS or (
                name == "classes" and _names_two_classes(snapshot.identity, wanted)
            )
            raise SettingsDiffer(
                f"{name}: the checkpoint was made with {written(made[name])}, "
                f"the setting is {written(wanted[name])}",
                hint="set it back, start and stop the service once (which makes a snapshot), then change it"
                if may_change
                else "set it to what the checkpoint was made with; giving the model up, "
                "`perceptron checkpoint reset` begins again",
            )


def _names_two_classes(made_with: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether two classes that had no names get some: the only change that means the same model."""
    return not made_with.get("classes") and len(wanted["classes"]) == BINARY
