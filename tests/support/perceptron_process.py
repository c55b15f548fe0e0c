"""The `perceptron` command as a process of its own, as a user starts it.

What it prints, its metrics while it runs and its exit code can be read.
"""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.support.speed import patience

# A process imports for a second on an idle machine; parallel test runs, and others, share this one.
DEADLINE_SECONDS = patience(100.0)
# Without one of its own, each request reads the system's certificates, which takes 40 ms of processor time.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class PerceptronProcess:
    """`perceptron ARGUMENTS`, running; killed at the end of the context if need be.

    Parameters
    ----------
    arguments
        The command line.
    folder
        Where it runs and where its output is kept.
    settings
        Settings by name, given through the environment; no others come from outside.

    """

    def __init__(self, *arguments: str, folder: Path, settings: Mapping[str, object] | None = None) -> None:
        name = uuid.uuid4().hex[:8]
        self._out, self._err = folder / f"{name}.out", folder / f"{name}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "service", *arguments],
                cwd=folder,
                env=environment(settings or {}),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # a process group of its own, as a shell makes one
            )

    @property
    def pid(self) -> int:
        """Its number, as the system has it."""
        return self._process.pid

    @property
    def stdout(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def stderr(self) -> str:
        return self._err.read_text(encoding="utf-8")

    @property
    def log(self) -> list[dict[str, Any]]:
        """What it has logged: all of stderr, of a command that logs as JSON."""
        return [json.loads(line) for line in self.stderr.splitlines()]

    @property
    def errors(self) -> list[str]:
        """The messages of the errors it has logged, each with its hint."""
        return [f"{line['message']}\n{line['hint']}" for line in self.log if line["level"] == "error"]

    @property
    def address(self) -> str:
        """The HTTP address it prints on stderr, as soon as it does."""
        self.eventually(lambda: _ADDRESS.search(self.stderr) is not None)
        found = _ADDRESS.search(self.stderr)
        assert found
        return found[0]

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.address + path, timeout=DEADLINE_SECONDS, verify=NO_CERTIFICATES)

    def metrics(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Ask for the metrics now: values by name and labels."""
        families = text_string_to_metric_families(self.get("/metrics").text)
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def metric(self, name: str, **labels: str) -> float:
        """Add up the samples of a metric that have these labels."""
        wanted = set(labels.items())
        return sum(value for (found, has), value in self.metrics().items() if found == name and wanted <= has)

    def partitions(self) -> set[str]:
        """Return the partitions it works on now."""
        return {
            dict(labels)["partition"]
            for name, labels in self.metrics()
            if name == "perceptron_predictions_total"
        }

    def eventually(self, claim: Callable[[], bool]) -> None:
        """Wait until the claim holds; the process must not end meanwhile."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self._holds(claim):
            assert self._process.poll() is None, f"it ended with {self._process.returncode}: {self.stderr}"
            assert time.monotonic() < deadline, f"this did not happen in time; stderr: {self.stderr}"
            time.sleep(0.05)

    def _holds(self, claim: Callable[[], bool]) -> bool:
        """Try a claim; a process that ends meanwhile does not answer any more."""
        try:
            return claim()
        except httpx.TransportError:
            self._process.wait(10)
            return False

    def ready(self) -> Self:
        """Wait until it processes events."""
        self.eventually(lambda: self.get("/readyz").status_code == httpx.codes.OK)
        return self

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, timeout_seconds: float = DEADLINE_SECONDS) -> int:
        """Wait for its end; return the exit code."""
        return self._process.wait(timeout_seconds)

    def stop(self) -> int:
        """End it as an operator would (SIGTERM); return the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()
        assert "is no setting" not in self.stderr, "the test gave a setting that was ignored"


def environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Return this process's environment with these settings and no others."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PERCEPTRON_")}
    given = {f"PERCEPTRON_{name.upper()}": str(value) for name, value in settings.items()}
    return inherited | given
