"""`perceptron demo`: the public commands on an embedded stream, with a real data set and a kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import copy
from threading import Event, Thread
from typing import Any, Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import click

from service.cli.help import SettingsCommand, number_option
from service.cli.options import setting_options
from service.cli.output import echo, echo_line
from service.errors import INTERRUPTED, ServerError
from service.loop.stopping import StopRequest, stopping
from service.settings.load import ENVIRONMENT_PREFIX, Loaded, Settings

_N_EVENTS: Final = 1250
_SLOW_RATE: Final = "20"
"""Events per second after the data set has been sent: slow enough to read along."""
_ENDING_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05
_DATA_FILE: Final = "phishing.csv.gz"
_NO_EVENT: Final = b'{"id": "poisoned", "features": {"length": "twelve", \n'
"""A record that was cut off in transit."""
_OWN_SETTINGS: Final = {
    "CLASSES": "legitimate,phishing",
    "COMMIT_INTERVAL_SECONDS": "0.05",
    "LOG_FORMAT": "text",
}
_WHERE_NEXT: Final = """
where to look next
  perceptron demo --keep        the same, and the live page stays up
  perceptron init FILE          look through a file of yours, such as NDJSON, and write settings for it
  perceptron compare FILE       which model makes the fewest mistakes on it
  perceptron serve              the loop, on SQLite or, with --broker kafka://…, on Kafka
  perceptron --help             everything else"""


@click.command(cls=SettingsCommand)
@setting_options("http")
@number_option(
    "--rate",
    type=click.FloatRange(min=1),
    default=400.0,
    show_default=True,
    help="Events to send per second.",
)
@click.option(
    "--keep", is_flag=True, help="Keep sending slowly until Ctrl-C, so that the live page stays up."
)
def demo_command(rate: float, loaded: Loaded, *, keep: bool) -> None:
    """Run the whole service on this machine, with a real data set, in less than a minute.

    The demo streams River's Phishing data set through SQLite in a temporary folder, and shows each command.
    `perceptron serve` predicts and learns, is killed halfway and started again; a live page shows the
    progress. The demo ends with a proof that nothing was lost or done twice; --keep continues until Ctrl-C.
    """
    with (
        stopping() as request,
        tempfile.TemporaryDirectory(prefix="perceptron-demo-") as folder,
        ExitStack() as processes,
    ):
        _Demo(Path(folder), loaded.settings, processes, request).run(rate, keep=keep)
    if request.is_interrupt:
        sys.exit(INTERRUPTED)
    echo(_WHERE_NEXT)


class _Demo:
    """One run; its processes end with the exit stack."""

    def __init__(self, folder: Path, given: Settings, processes: ExitStack, request: StopRequest) -> None:
        address = _free_address(given.http or "127.0.0.1:0")
        self._url = f"http://{address}"
        self._environment = _environment(folder, given, address)
        self._folder = folder
        self._processes = processes
        self._is_over = Event()
        self._failed = ""
        self._predictions: subprocess.Popen[bytes] | None = None
        request.handle_with(self._end)

    def run(self, rate: float, *, keep: bool) -> None:
        """Run to the end, or until a request to end."""
        river = Path(find_spec("river").origin or "")  # type: ignore[union-attr]
        copy(river.parent / "datasets" / _DATA_FILE, self._folder)
        produce = "produce", _DATA_FILE, "--label-column", "is_phishing", "--rate"
        echo_line(f"online-perceptron demo: {_N_EVENTS:,} web pages of River's Phishing data set, on SQLite")
        served = self._start("serve")
        self._run("produce", "-", "--no-validate", sent=_NO_EVENT)
        self._wait_until_ready()
        echo_line(f"  live page  {self._url}")
        echo_line(f"  metrics    {self._url}/metrics")
        self._start(*produce, f"{rate:g}")
        self._watch(served)
        self._run("verify", shown_lines=1)
        self._run("dead-letters", "list")
        self._run("status")
        if keep:
            self._start(*produce, _SLOW_RATE, "--loop")
            echo_line(f"the events come again, {_SLOW_RATE} a second: watch {self._url}; Ctrl-C ends it")
            self._is_over.wait()
        if self._failed:
            raise ServerError(f"the demo has ended: {self._failed}")

    def _watch(self, served: subprocess.Popen[bytes]) -> None:
        """Count the mistakes; kill the service halfway, and start it again."""
        mistakes = 0
        shown_at, killed_at = 1, _N_EVENTS // 2
        for events, prediction in enumerate(self._predicted(), start=1):
            mistakes += prediction["mistake"]
            if events == 1:
                echo_line(f"{'events':>12}{'mistakes':>12}{'error':>12}")
            if events in {shown_at, _N_EVENTS}:
                shown_at *= 2
                echo_line(f"{events:>12,}{mistakes:>12,}{mistakes / events:>12.4f}")
            if events == killed_at:
                served.kill()
                echo_line(f"kill -9 {served.pid}: the service is killed while it works, and restarted")
                self._start("serve")
            if events == _N_EVENTS:
                return

    def _predicted(self) -> Iterator[Mapping[str, Any]]:
        self._predictions = self._start("consume", "predictions", stdout=subprocess.PIPE)
        if self._is_over.is_set():
            self._predictions.terminate()
        assert self._predictions.stdout is not None
        with self._predictions.stdout as lines:
            for line in lines:
                yield json.loads(line)["value"]

    def _wait_until_ready(self) -> None:
        opener = build_opener(ProxyHandler({}))
        while not self._is_over.wait(_POLL_SECONDS):
            with suppress(URLError, OSError):
                opener.open(f"{self._url}/readyz", timeout=5).close()
                break

    def _start(self, *arguments: str, stdout: int | None = None) -> subprocess.Popen[bytes]:
        """Start a command; if it fails, the demo ends."""
        echo_line(f"$ perceptron {' '.join(arguments)}")
        log = (self._folder / f"{arguments[0]}.log").open("ab")
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "service", *arguments],
            **self._environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout or log,
            stderr=log,
        )
        log.close()
        self._processes.callback(_stop, process)
        Thread(target=self._await, args=(process, Path(log.name)), daemon=True).start()
        return process

    def _run(self, *arguments: str, sent: bytes = b"", shown_lines: int | None = None) -> None:
        """Run a command to its end, unless the demo has ended, and show what it prints."""
        if self._is_over.is_set():
            return
        echo_line(f"$ perceptron {' '.join(arguments)}")
        command = [sys.executable, "-m", "service", *arguments]
        done = subprocess.run(command, **self._environment, input=sent, stdout=subprocess.PIPE, check=False)  # noqa: S603
        for line in done.stdout.decode().splitlines()[:shown_lines]:
            echo(line)

    def _await(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """End the demo if a process ends with an error, and show the end of its log."""
        if process.wait() > 0 and not self._is_over.is_set():
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            self._failed = " | ".join(last)
            self._end()

    def _end(self) -> None:
        self._is_over.set()
        if self._predictions is not None:
            self._predictions.terminate()


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def _environment(folder: Path, given: Settings, address: str) -> dict[str, Any]:
    """Return folder and environment of the commands, with only the HTTP settings of this process."""
    own = {
        **_OWN_SETTINGS,
        "BROKER": f"sqlite:///{folder / 'stream.db'}",
        "HTTP": address,
        "HTTP_HOSTS": ",".join(given.http_hosts),
        "HTTP_TOKEN": given.http_token.get_secret_value(),
        "HTTP_SHOW_EVENTS": "yes" if given.http_show_events == "auto" else given.http_show_events,
    }
    others = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    return {"cwd": folder, "env": others | {ENVIRONMENT_PREFIX + name: value for name, value in own.items()}}


def _free_address(address: str) -> str:
    """Return the address with a free port: its own port, if that is free."""
    host, _, port = address.rpartition(":")
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    for wanted in (int(port), 0):
        with suppress(OSError), socket.create_server((name, wanted), family=family) as server:
            return f"{host}:{server.getsockname()[1]}"
    raise ServerError(f"every port of {host} is in use", hint="choose another address: --http 127.0.0.1:0")
