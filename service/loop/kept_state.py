"""A task's state that was restored before, to go on from when more has been committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from perceptron_core import DamagedError
from perceptron_core.elementary import ARITHMETIC
from service.checkpoints.identity import identity, names_settings
from service.checkpoints.log import CheckpointLog, read_log
from service.checkpoints.progress_counts import computes_alike
from service.checkpoints.snapshot import Snapshot
from service.checkpoints.stored import StoredSnapshot
from service.errors import CheckpointError
from service.loop.restore import Base, Restored
from service.settings.load import Settings
from service.stream.protocol import Record


class KeptState(NamedTuple):
    """What was restored, and the end of the log that it was restored from."""

    base: Base
    log: CheckpointLog
    """What lies behind the state, and the newest snapshots without their chunks."""
    next_offset: int
    """Where the log ended."""

    @classmethod
    def of(
        cls, restored: Restored, settings: Settings, log: CheckpointLog, next_offset: int
    ) -> KeptState | None:
        """Return what to keep; None where what follows may be learned otherwise than this process would."""
        if restored.settings_changed or restored.losses or not log.snapshots:
            return None
        made_with = identity(settings) | restored.beside_settings
        snapshot = Snapshot(
            restored.sequence, restored.offsets, made_with, {"arithmetic": ARITHMETIC}, restored.topic_ids
        )
        wholes = [place for place, each in enumerate(log.snapshots) if each.before is None]
        snapshots = log.snapshots[[0, *wholes][-settings.snapshots_kept :][0] :]
        newest = snapshots[-1].sequence
        rest = CheckpointLog(
            log.progress[-1:],
            [replace(each, chunks=dict.fromkeys(each.chunks, b""), previous=None) for each in snapshots],
            [each for each in log.schemas if each.sequence > restored.sequence],
            {sequence: offset for sequence, offset in log.offsets.items() if sequence > newest},
            log.unfinished,
        )
        return cls(Base(snapshot, restored.processor), rest, next_offset)

    def lies_in(self, first: int, end: int) -> bool:
        """Return whether a log with these bounds goes on where this one ended."""
        return first <= self.next_offset <= end

    def continued(
        self, records: Sequence[Record] | None, first_offset: int, settings: Settings
    ) -> CheckpointLog | None:
        """Return the log with what follows; None if the state is not what later batches were learned from.

        Parameters
        ----------
        records
            Those from `next_offset` on; None if they were too large.
        first_offset
            Where the log begins now: a snapshot has to be there.
        settings
            Those of this process. A later snapshot must name them.

        """
        if records is None:
            return None
        try:
            log = read_log(records, settings.group, self.log)
            known = {each.first_offset for each in self.log.snapshots}
            following = [each for each in log.snapshots if each.first_offset not in known]
            sound = first_offset <= log.snapshots[-1].needed_offset and all(
                _follows(each, log, settings) for each in following
            )
            log.progress_after(self.base.snapshot.sequence)
        except (CheckpointError, DamagedError):
            return None
        return log if sound else None


def _follows(stored: StoredSnapshot, log: CheckpointLog, settings: Settings) -> bool:
    """Return whether a snapshot is of a batch in the log, and of these settings: no other model came in."""
    if stored.sequence not in log.offsets:
        return False
    snapshot, _ = stored.read_own()  # what it goes on from is the state at hand
    return names_settings(snapshot.identity, settings) and computes_alike(snapshot)
