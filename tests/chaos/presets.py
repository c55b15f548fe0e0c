"""Settings under which a service is attacked."""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from tests.support.chaos_log import LABEL_TIMEOUT_SECONDS, LEFT_OUT, STEP_MS


class Force(NamedTuple):
    """How hard to try. Batches are small and snapshots frequent, so that a kill may hit any phase."""

    kills: int
    freezes: int
    events: int
    batch: int
    """Records in a batch at most."""
    snapshot_interval: int
    """Records from one snapshot to the next."""
    pause_seconds: float
    """How long the broker is frozen."""


SHORT = Force(kills=4, freezes=1, events=1200, batch=20, snapshot_interval=60, pause_seconds=4)
LONG = Force(kills=110, freezes=10, events=50_000, batch=250, snapshot_interval=1500, pause_seconds=60)

BUSY = {
    "session_timeout_seconds": 1,
    "max_batch_records": SHORT.batch,
    "snapshot_interval_records": SHORT.snapshot_interval,
    "commit_interval_seconds": 0.02,
}
AMONG_EVENTS = BUSY | {"labels_topic": "", "label_timeout_seconds": LABEL_TIMEOUT_SECONDS}
# In a topic of their own labels may overtake their events by any time, however much waits to be read: nothing
# is to expire. And the order in which the two were taken must be there to the end.
APART = BUSY | {"label_timeout_seconds": 1e8, "snapshots_kept": 1_000_000}
TIMING_OUT = AMONG_EVENTS | {
    "label_timeout_seconds": 100 * STEP_MS / 1000,
    "events__label_on_timeout": "false",
}
"""Most labels come before their time is over, some after, to correct what was learned."""
WINDOWED = APART | {
    "label_timeout_seconds": TIMING_OUT["label_timeout_seconds"],
    "events__label_on_timeout": "false",
    "events__where": f"!ends_with(id, '{LEFT_OUT}')",
    "events__unknown_fields": "reject",
    "events__windows": json.dumps(
        [
            {
                "by": "length(text)",
                "over": ["1m", "1h"],
                "of": {
                    "features.x1": ["sum", "mean", "min", "max", "std", "distinct"],
                    "@event": ["count", "seconds_since_last"],
                    "@label": ["rate"],
                },
                "max_keys": 12,
            }
        ]
    ),
}
"""Windows by key, of whose keys some leave for others; a filter; labels that correct what timed out."""
DECIDING = TIMING_OUT | {
    "decisions": json.dumps(
        [{"name": "block", "min_precision": 0.6}, {"name": "look", "max_rate": "20/minute"}, {"name": "act"}]
    ),
    "decisions_half_life": 500,
    "costs__false_positive": 1,
    "costs__false_negative": 3,
    "drift__reaction": "record",
    "drift__labels_between_false_alarms": 1000,
}
"""Thresholds that are found in labels, some of them corrected, a budget in event time, and drifts."""
MIXTURE = AMONG_EVENTS | {"model": "auto"}
SHARED = APART | {"share_model": True}
"""One model over all partitions."""
HTTP = {"http": "127.0.0.1:0"}


def sized(labels, force):
    """Make batches and distances of snapshots fit the length of the log."""
    return {**labels, "max_batch_records": force.batch, "snapshot_interval_records": force.snapshot_interval}


def hours_ago_ms(hours):
    """Return when a log is to begin; Kafka deletes what is a week old, and rejects the future."""
    return int(time.time() * 1000) - hours * 3_600_000
