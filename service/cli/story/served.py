"""`perceptron serve` as a process of its own, which can be killed and started again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from service.errors import ServerError
from service.settings.load import ENVIRONMENT_PREFIX, Settings

_ENDING_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05


class Served:
    """A service on one stream.

    Parameters
    ----------
    settings
        Of the stream, the classes and the HTTP server.
    folder
        Where it runs, and its log lies.
    is_over
        Whether nobody waits for it any more.

    Attributes
    ----------
    address
        The URL of its page.

    """

    def __init__(self, settings: Settings, folder: Path, is_over: Callable[[], bool]) -> None:
        host, _, port = settings.http.rpartition(":")
        self._http = f"{host}:{_free_port(host.strip('[]'), int(port))}"
        self.address = f"http://{self._http}"
        self._settings = settings
        self._folder = folder
        self._is_over = is_over
        self._log = folder / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready. Raises `ServerError` if it ends instead."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "service", "serve"],
                cwd=self._folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        while not (self._is_ready() or self._is_over()):
            self.check()
            sleep(_POLL_SECONDS)

    def run(self, *arguments: str) -> str:
        """Run another command on the same stream; return what it prints."""
        command = [sys.executable, "-m", "service", *arguments]
        return subprocess.run(  # noqa: S603
            command, cwd=self._folder, env=self.environment(), capture_output=True, text=True, check=False
        ).stdout

    def check(self) -> None:
        """Raise `ServerError` with the end of its log if it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            last = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            raise ServerError("the service of the demo has ended: " + " | ".join(last))

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it in order (SIGTERM)."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def _is_ready(self) -> bool:
        with suppress(URLError, OSError):
            opener = build_opener(ProxyHandler({}))
            return bool(opener.open(f"{self.address}/readyz", timeout=5).status == 200)  # noqa: PLR2004
        return False

    def environment(self) -> Mapping[str, str]:
        """Return the environment of its commands: the settings, and nothing of those of this process."""
        settings = self._settings
        given = {
            "BROKER": settings.broker,
            "CLASSES": ",".join(settings.classes),
            "COMMIT_INTERVAL_SECONDS": str(settings.commit_interval_seconds),
            "HTTP": self._http,
            "HTTP_HOSTS": ",".join(settings.http_hosts),
            "HTTP_TOKEN": settings.http_token.get_secret_value(),
            "HTTP_SHOW_EVENTS": settings.http_show_events,
        }
        others = {
            name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)
        }
        return others | {f"{ENVIRONMENT_PREFIX}{name}": value for name, value in given.items() if value}


def _free_port(host: str, port: int) -> int:
    """Return a port that nobody listens on: this one, if it is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port, 0):
        with suppress(OSError), socket.create_server((host, wanted), family=family) as found:
            return int(found.getsockname()[1])
    raise ServerError(f"no port of {host} is free", hint="give another address: --http 127.0.0.1:0")
