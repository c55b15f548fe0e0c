"""Settings under which a service is attacked."""

from __future__ import annotations

import time

from tests.support.chaos_log import LABEL_TIMEOUT_SECONDS

# Small batches and frequent snapshots, so that a kill may hit any phase.
BUSY = {
    "session_timeout_seconds": 1,
    "max_batch_records": 20,
    "commit_interval_seconds": 0.02,
    "snapshot_interval_records": 60,
}
AMONG_EVENTS = BUSY | {"labels_topic": "", "label_timeout_seconds": LABEL_TIMEOUT_SECONDS}
# In a topic of their own labels may overtake their events by as much as waits to be read: they need longer.
# And the order in which the two were taken must be there to the end.
APART = BUSY | {"label_timeout_seconds": 10 * LABEL_TIMEOUT_SECONDS, "snapshots_kept": 1_000_000}
HTTP = {"http": "127.0.0.1:0"}


def hours_ago_ms(hours: int) -> int:
    """Give an event time for a log to begin at; Kafka deletes what is a week old, and refuses the future."""
    return int(time.time() * 1000) - hours * 3_600_000
