"""What the coming and going of processes does to a steady stream."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Final

from .serving import (
    NAMES_AN_EVENT,
    SNAPSHOT_SECONDS,
    STEADY_SECONDS,
    Build,
    Process,
    named_events,
    settings_of,
)
from .steady import Steady
from .stream import Stream, environment, unused

_WARM_UP_SECONDS: Final = 60.0
"""Until a broker that was just started is as fast as one that has run for long."""
_SESSION_SECONDS: Final = 10.0
"""The default of `session_timeout_seconds`."""
_PROCESSES: Final = 3


class HandOver:
    """Processes that come and go while a steady stream flows.

    Parameters
    ----------
    stream, build, client, partitions, given
        Where, what, with which Kafka client, and the arguments.

    """

    def __init__(
        self, stream: Stream, build: Build, client: str, partitions: int, given: argparse.Namespace
    ) -> None:
        self._stream, self._build = stream, build
        self._settings = settings_of(stream, partitions, client)
        if given.share_model:
            self._settings |= {"share_model": True, "mixes_topic": unused("mixes")}
        if given.standby:
            self._settings |= {"standby": 1, "snapshot_interval_seconds": SNAPSHOT_SECONDS}
        self._n_learned = given.names // NAMES_AN_EVENT if given.what == "handover" else 0
        self._partitions = range(partitions)
        self._steady = Steady(stream, self._settings, partitions, given.rate)
        self._stack = ExitStack()

    def rows(self) -> Iterator[str]:
        """Let a process stop, come back and be killed; yield a row for each."""
        with self._stack:
            self._start().until_ready()
            self._learn()
            second = self._start()
            second.until_ready()
            with self._steady.flowing():
                time.sleep(_WARM_UP_SECONDS)
                changes = [self._change(lambda: os.kill(second.pid, signal.SIGTERM), STEADY_SECONDS)]
                started: list[Process] = []
                changes.append(self._change(lambda: started.append(self._start()), 2 * STEADY_SECONDS))
                killed_seconds = _SESSION_SECONDS + STEADY_SECONDS
                changes.append(self._change(lambda: os.kill(started[0].pid, signal.SIGKILL), killed_seconds))
                time.sleep(STEADY_SECONDS)  # what was sent last comes to be read
        for what, change in zip(("stops in order", "joins", "is killed"), changes, strict=True):
            yield self._row(what, *change)

    def _learn(self) -> None:
        """Let as many features be learned as were asked for, and be in a snapshot."""
        if not self._n_learned:
            return
        topic, group = str(self._settings["events_topic"]), str(self._settings["group"])
        n_partitions = len(self._partitions)
        self._stream.fill(topic, named_events(self._n_learned * NAMES_AN_EVENT), n_partitions)
        with self._stream.progress(group, topic, n_partitions) as progress:
            while progress() < self._n_learned:
                time.sleep(STEADY_SECONDS / 10)
        time.sleep(2 * SNAPSHOT_SECONDS)

    def _start(self) -> Process:
        process = Process(self._stream, self._build, self._settings)
        self._stack.enter_context(process.running)
        return process

    def _change(self, act: Callable[[], object], seconds: float) -> tuple[set[int], float, float]:
        """Act and wait; return the partitions that stayed, when it began and when it ended."""
        before, began = self._owners(), time.perf_counter()
        act()
        time.sleep(seconds)
        after, ended = self._owners(), time.perf_counter()
        stayed = {each for member in before.keys() & after.keys() for each in before[member] & after[member]}
        return stayed, began, ended

    def _row(self, what: str, stayed: set[int], began: float, ended: float) -> str:
        moved = set(self._partitions) - stayed
        longest = [self._steady.longest_wait(began, ended, each) for each in (stayed, moved)]
        return f"{what:16}{len(stayed):8}{longest[0]:9.1f}{len(moved):8}{longest[1]:9.1f}"

    def deploy(self) -> str:
        """Let each of three processes stop in order and start again; return a row."""
        with self._stack:
            processes = [self._start() for _ in range(_PROCESSES)]
            for each in processes:
                each.until_ready()
            with self._steady.flowing():
                time.sleep(_WARM_UP_SECONDS)
                began = time.perf_counter()
                for each in processes:
                    each.running.end()
                    self._start().until_ready()
                time.sleep(STEADY_SECONDS)
                ended = time.perf_counter()
                time.sleep(STEADY_SECONDS)
            silent = self._steady.longest_wait(began, ended, self._partitions)
            missing, doubled = self._steady.missing_and_doubled(ended)
        command = [self._build.command, "verify", "--format", "json"]
        settings = {**self._settings, "broker": f"kafka://{self._stream.address}"}
        verdict = json.loads(
            subprocess.run(
                command, env=environment(settings), capture_output=True, text=True, check=False
            ).stdout
        )
        proved = "yes" if verdict["proved"] else "no"
        return f"{silent:9.1f}{verdict['predictions']:9}{missing:9}{doubled:9}{proved:>9}"

    def _owners(self) -> Mapping[str, set[int]]:
        """Return the partitions of each member of the group."""
        group, topic = str(self._settings["group"]), self._settings["events_topic"]
        found = self._stream.admin.describe_consumer_groups([group])[group].result()
        return {
            member.member_id: {at.partition for at in member.assignment.topic_partitions if at.topic == topic}
            for member in found.members
        }
