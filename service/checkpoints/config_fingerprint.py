"""The settings that a model depends on: snapshots contain them, and startup rejects other settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from perceptron_core.elementary import ARITHMETIC
from service.checkpoints.snapshot import Snapshot
from service.errors import CheckpointError, SettingsDiffer
from service.messages.labels import BINARY
from service.settings.declaration import written
from service.settings.fields import HASH_KEY, KEPT, OF_MODELS, Settings, defaults, fingerprint
from service.stream.protocol import TopicPartition, nested

EARLIER: Final = "earlier"
"""Field of a fingerprint with the earlier settings: oldest first, each an `Earlier`."""
ORIGIN: Final = "origin"
"""Field with the origin of the model, unless it is an untrained model at the first record of the topic."""
FILES, START, START_MS = "files", "start", "start_ms"
"""Fields of the origin: the files that the model was trained on; the offset of the first record by topic and
partition; the time before which records are skipped."""
NOT_SETTINGS: Final = frozenset({EARLIER, ORIGIN})
"""Fields of a fingerprint that are not settings."""


def earlier_settings(
    made_with: Mapping[str, Any],
    settings: Settings,
    offsets: Mapping[TopicPartition, int],
    resumed: Mapping[TopicPartition, int] = MappingProxyType({}),
) -> Sequence[Mapping[str, Any]]:
    """List the earlier settings under which records before these offsets were processed.

    Parameters
    ----------
    made_with
        The fingerprint in the newest snapshot.
    settings
        Settings for the next record.
    offsets
        Next offset by input topic and partition.
    resumed
        Offsets at which processing resumes instead. All records of a recreated topic come after the change.

    Returns
    -------
    Oldest first: `until`, the offsets at which the settings ended, and `settings`, in a fingerprint's form.

    """
    earlier: Sequence[Mapping[str, Any]] = made_with.get(EARLIER, ())
    before = {name: value for name, value in made_with.items() if name in KEPT}
    if {**defaults(), **before} == {**defaults(), **fingerprint(settings)} or (
        earlier and earlier[-1]["until"] == nested(offsets)
    ):
        periods = earlier
    else:
        periods = (*earlier, {"until": nested(offsets), "settings": before})
    return [{**each, "until": _clipped(each["until"], resumed)} for each in periods]


def _clipped(
    offsets: Mapping[str, Mapping[int, int]], most: Mapping[TopicPartition, int]
) -> dict[str, dict[int, int]]:
    return {
        topic: {n: min(offset, most.get((topic, n), offset)) for n, offset in by_partition.items()}
        for topic, by_partition in offsets.items()
    }


def is_continued_alike(snapshot: Snapshot, settings: Settings) -> bool:
    """Return whether a snapshot has exactly these settings, and the arithmetic of this release."""
    named = {name: value for name, value in snapshot.config_fingerprint.items() if name not in NOT_SETTINGS}
    return named == fingerprint(settings) and _computes_alike(snapshot)


def _computes_alike(snapshot: Snapshot) -> bool:
    """Return whether the snapshot has this arithmetic, so that a replay gives the same last digits."""
    return bool(snapshot.state["arithmetic"] == ARITHMETIC)


def named_settings(made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a fingerprint by dotted name, with values as on a command line.

    A setting that the fingerprint lacks has its default. A hash key is left out.

    Parameters
    ----------
    made_with
        The fingerprint.

    """
    named = {**defaults(), **{name: value for name, value in made_with.items() if name in KEPT}}
    del named[HASH_KEY]
    return named


def check_config_fingerprint(snapshot: Snapshot, settings: Settings, *, n_batches: int) -> None:
    """Reject settings that would make another model, and a replay with other arithmetic."""
    made, wanted = {**defaults(), **snapshot.config_fingerprint}, {**defaults(), **fingerprint(settings)}
    # Unnamed classes may get names: the only change of a setting that keeps the model the same.
    gives_names = not snapshot.config_fingerprint.get("classes") and len(wanted["classes"]) == BINARY
    for name in KEPT:
        may_change = name not in OF_MODELS or (name == "classes" and gives_names)
        if made[name] == wanted[name] or (may_change and not n_batches):
            continue
        raise SettingsDiffer(
            f"{name}: expected {written(made[name])} as in the checkpoint, got {written(wanted[name])}",
            hint="set it back, run `serve --exit-at-end` once (which leaves a snapshot), then change it"
            if may_change
            else "restore the former value; or drop the model: `perceptron checkpoint reset`",
        )
    if n_batches and not _computes_alike(snapshot):
        raise CheckpointError(
            "batches were committed by a release with different arithmetic, so their replay may diverge",
            hint="run `serve --exit-at-end` with that release once: it leaves a snapshot",
        )
