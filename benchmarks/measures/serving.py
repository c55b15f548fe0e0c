"""Processes of `perceptron serve`, of this installation or of another, on topics of their own."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

import httpx

from .stream import LOG, Running, Stream, unused

NAMES_AN_EVENT: Final = 200
"""Features of an event that is sent to make a model large."""
SNAPSHOT_SECONDS: Final = 8
"""From one snapshot of a large model to the next."""
STEADY_SECONDS: Final = 8.0
"""Between two events of a hand-over: longer than any of its effects is to last."""


class Build(NamedTuple):
    """An installation that is measured."""

    name: str
    command: str


class Process:
    """One `perceptron serve`, with the page that tells when it is ready."""

    def __init__(self, stream: Stream, build: Build, settings: Mapping[str, object]) -> None:
        folder = stream.folder / unused("serve")
        folder.mkdir()
        self._log = folder / LOG
        given = {"broker": f"kafka://{stream.address}", "http": "127.0.0.1:0", **settings}
        self.running = Running(folder, [build.command, "serve"], given)
        self._url = ""

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.running.pid

    def until_ready(self) -> float:
        """Wait until `/readyz` says so; return when."""
        self.running.until(self._is_ready)
        return time.perf_counter()

    def _is_ready(self) -> bool:
        if not self._url:
            found = re.search(r"http://127\.0\.0\.1:\d+", self._log.read_text(errors="replace"))
            self._url = found[0] if found else ""
        if not self._url:
            return False
        with suppress(httpx.TransportError):
            return httpx.get(f"{self._url}/readyz").is_success
        return False


def settings_of(stream: Stream, partitions: int, client: str) -> dict[str, object]:
    """Create topics; return the settings of a group on them."""
    names = ("events", "labels", "predictions", "dead_letters", "checkpoints")
    topics = {f"{name}_topic": stream.create(name.replace("_", "-"), partitions) for name in names}
    return {**topics, "group": unused("scale"), "kafka_client": client}


def named_events(n_names: int) -> Iterator[bytes]:
    """Yield events with features of their own; each label is one that the bias alone does not predict."""
    for first in range(0, n_names, NAMES_AN_EVENT):
        features = {f"feature-{k:09}": 1.0 for k in range(first, first + NAMES_AN_EVENT)}
        yield json.dumps(
            {"id": f"{-first}", "features": features, "label": not first // NAMES_AN_EVENT % 2}
        ).encode()
