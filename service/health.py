"""What the loop says about itself. In: its state. Out: answers for `/livez` and `/readyz`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The life of the loop.

    starting → ready ⇄ unavailable → stopped, from any of the first three.
    """

    STARTING = "starting"
    READY = "ready"
    UNAVAILABLE = "unavailable"
    STOPPED = "stopped"


@dataclass(slots=True)
class Health:
    """Written by the loop, read by the HTTP server."""

    state: State = State.STARTING
    reason: str = "joining the consumer group"

    def become(self, state: State, reason: str = "") -> None:
        """Change the state; `reason` says why it is not ready."""
        self.state, self.reason = state, reason

    @property
    def is_live(self) -> bool:
        """Whether the loop is still at work, be it waiting for the stream to come back."""
        return self.state is not State.STOPPED

    @property
    def is_ready(self) -> bool:
        """Whether events are being processed."""
        return self.state is State.READY
