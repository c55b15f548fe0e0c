"""A real Apache Kafka broker for tests and benchmarks, on this machine and without Docker.

It needs a JVM (17 or newer) and Maven, which fetches the jars named in ``tests/kafka/pom.xml`` once. The
broker is one KRaft node on 127.0.0.1, which can be stopped, killed, frozen and started again on its data.

Run ``python -m tests.support.kafka_broker`` for a broker to try things on: it prints its address.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self
from xml.etree import ElementTree as ET

POM = Path(__file__).parents[1] / "kafka" / "pom.xml"
MINIMUM_JAVA = 17
# A cold start takes about 5 s on two idle cores; parallel test runs share them.
START_DEADLINE_SECONDS = 90.0
# A clean stop writes a snapshot of each log.
STOP_DEADLINE_SECONDS = 30.0
QUICK_START = "-XX:TieredStopAtLevel=1"


class NoBroker(Exception):
    """No broker can be started on this machine; the message says why."""


class KafkaBroker:
    """One Kafka node, controller and broker in one process, on free ports of 127.0.0.1.

    Parameters
    ----------
    settings
        Lines of ``server.properties`` that add to or replace the ones below.
    protocols
        Security protocols that it speaks alongside PLAINTEXT, each on a port of its own.
    heap
        The JVM's ``-Xmx``.
    quick_start
        Leave out the JVM's optimizing compiler, which pays off after minutes of load. A start then takes
        half the processor time.

    """

    def __init__(
        self,
        *,
        settings: Mapping[str, str] | None = None,
        protocols: Sequence[str] = (),
        heap: str = "512m",
        quick_start: bool = False,
    ) -> None:
        self.java, self.libraries = find_java(), fetch_libraries()
        self.folder = Path(tempfile.mkdtemp(prefix="perceptron-kafka-"))
        names = ("PLAINTEXT", *protocols)
        *ports, self._controller_port = free_ports(len(names) + 1)
        self.ports = dict(zip(names, ports, strict=True))
        self.log_file = self.folder / "broker.log"
        self._options = [f"-Xmx{heap}", *([QUICK_START] if quick_start else [])]
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._write_properties(settings or {})
        self._run_tool(
            *("kafka.tools.StorageTool", "format", f"--cluster-id={_new_cluster_id()}"),
            *("-c", str(self._properties)),
        )

    @property
    def port(self) -> int:
        """The port on which anybody is let in."""
        return self.ports["PLAINTEXT"]

    @property
    def address(self) -> str:
        """`host:port`, as a client's bootstrap server."""
        return f"127.0.0.1:{self.port}"

    @property
    def process_id(self) -> int:
        """The broker's process; only while it runs."""
        assert self._process is not None, "the broker does not run"
        return self._process.pid

    def start(self) -> None:
        """Start on the data of the last run, if any, and wait until the broker answers."""
        assert self._process is None, "the broker runs already"
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", str(self._properties), options=self._options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in a terminal is for the tests; they stop the broker when they have finished.
                start_new_session=True,
            )
        self._guard = _kill_with_us(self._process.pid)
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def wait_until_ready(self, timeout_seconds: float = START_DEADLINE_SECONDS) -> None:
        """Wait until clients get an answer."""
        deadline = time.monotonic() + timeout_seconds
        while not answers(self.address):
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                tail = self.log_file.read_text(errors="replace")[-2000:]
                raise NoBroker(f"the Kafka broker did not start; the end of its log:\n{tail}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it as an operator would (SIGTERM); its data stays."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL); its data stays."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Freeze it (SIGSTOP): connections stay open and nothing answers."""
        os.kill(self.process_id, signal.SIGSTOP)
        state = Path(f"/proc/{self.process_id}/stat")
        while state.exists() and state.read_text().rpartition(")")[2].split()[0] not in "TtZX":
            time.sleep(0.001)  # until one of its threads has had the processor, all of them continue

    def resume(self) -> None:
        """Let a frozen broker continue."""
        os.kill(self.process_id, signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start on the same port and data."""
        self.stop()
        self.start()

    def ensure_running(self) -> None:
        """Let it continue if it is frozen, and start it if it does not run."""
        if self._process is None:
            self.start()
        else:
            self.resume()
            self.wait_until_ready()

    def close(self) -> None:
        """Kill it and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    def _write_properties(self, settings: Mapping[str, str]) -> None:
        listeners = ",".join(f"{protocol}://127.0.0.1:{port}" for protocol, port in self.ports.items())
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": ",".join(
                ["CONTROLLER:PLAINTEXT", *(f"{protocol}:{protocol}" for protocol in self.ports)]
            ),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.folder / "data"),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            # Tests join and leave groups and time members out; no one wants to wait for it.
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
            # A killed broker's registration bars its successor for this long.
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
            # The default writes a record every half second.
            "metadata.max.idle.interval.ms": "30000",
            # Tests write records of 1970, which the first look at what is out of date would delete.
            "log.retention.check.interval.ms": "86400000",
            # The default takes 128 MB of the heap.
            "log.cleaner.dedupe.buffer.size": "8388608",
        }
        text = "".join(f"{name}={value}\n" for name, value in (lines | dict(settings)).items())
        self._properties.write_text(text)

    def _command(self, main_class: str, *arguments: str, options: Sequence[str]) -> list[str]:
        return [
            self.java,
            *options,
            "-XX:+UseSerialGC",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-cp",
            f"{self.libraries}/*",
            main_class,
            *arguments,
        ]

    def _run_tool(self, main_class: str, *arguments: str) -> None:
        command = self._command(main_class, *arguments, options=["-Xmx128m", QUICK_START])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoBroker(f"{main_class} failed: {done.stdout}{done.stderr}")

    def _end(self, how: signal.Signals) -> None:
        if self._guard is not None:  # before the broker's id is free for another process
            self._guard.kill()
            self._guard.communicate()
            self._guard = None
        if self._process is None:
            return
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(how)
        try:
            self._process.wait(STOP_DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def find_java() -> str:
    """Find a JVM new enough for the broker, or raise `NoBroker`."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise NoBroker(
            f"no JVM: neither JAVA_HOME nor `java` on the PATH gives one of version {MINIMUM_JAVA}"
        )
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    if found is None or int(found[1]) < MINIMUM_JAVA:
        raise NoBroker(f"{java} is older than version {MINIMUM_JAVA}")
    return java


def fetch_libraries() -> Path:
    """Return the folder of the broker's jars, fetching them with Maven at the first call on a machine."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "online-perceptron"
    folder = cache / f"kafka-{_pinned_version()}"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise NoBroker(f"no Maven (`mvn`) on the PATH to fetch the jars of {POM} with")
    cache.mkdir(parents=True, exist_ok=True)
    # Whole or not at all: runs fetch in parallel, and the first to finish wins.
    with tempfile.TemporaryDirectory(dir=cache, ignore_cleanup_errors=True) as temporary:
        target = Path(temporary) / "libraries"
        command = [
            maven,
            "-q",
            "-B",
            "-f",
            str(POM),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={target}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoBroker(f"Maven could not fetch the broker's jars: {(done.stdout + done.stderr)[-1000:]}")
        try:
            target.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    return folder


def answers(address: str, timeout_seconds: float = 2.0) -> bool:
    """Return whether a Kafka broker at `host:port` answers a request for its API versions."""
    host, _, port = address.rpartition(":")
    # ApiVersions (key 18), version 0, correlation id 7, no client id: the one request every broker answers.
    request = bytes.fromhex("0000000a 0012 0000 00000007 ffff")
    try:
        with socket.create_connection((host, int(port)), timeout_seconds) as connection:
            connection.settimeout(timeout_seconds)
            connection.sendall(request)
            return connection.recv(8)[4:] == bytes.fromhex("00000007")
    except (OSError, ValueError):
        return False


def _pinned_version() -> str:
    version = ET.parse(POM).findtext("properties/kafka.version")
    assert version is not None, f"{POM} names no kafka.version"
    return version


def _new_cluster_id() -> str:
    """Make an id as the storage tool takes it."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 on which no one listens now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _kill_with_us(process_id: int) -> subprocess.Popen[bytes]:
    """Have a shell kill the process when ours has ended in whatever way: its pipe to us closes then."""
    script = f"read -r _; kill -9 {process_id}"
    return subprocess.Popen(
        ["/bin/sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def main() -> None:
    """Run a broker until interrupted or terminated; print its address to stdout."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with KafkaBroker() as broker:
        print(broker.address, flush=True)  # noqa: T201 - a command's output
        try:
            signal.pause()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
