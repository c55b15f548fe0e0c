"""What the figures were measured on: the machine, and the releases of everything that took part."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import perceptron_core
from tests.support.kafka_broker import NoBroker, fetch_libraries, find_java

from . import peer_environments
from .base import Unavailable

_HERE = ("river", "vowpalwabbit", "kafka-python", "confluent-kafka", "pydantic", "numpy", "pandas")


def machine() -> str:
    """Say which processor, how many cores, how much memory and which system."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}"


def versions() -> dict[str, str]:
    """List releases by name; what is not there is left out."""
    found = {"online-perceptron": perceptron_core.__version__, "Python": platform.python_version()}
    found |= {name: version for name in _HERE if (version := _version(name))}
    return found | {
        name: version for name, version in (("quixstreams", _quix()), ("Apache Kafka", _kafka())) if version
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _quix() -> str:
    program = "from importlib.metadata import version; print(version('quixstreams'))"
    try:
        done = subprocess.run(
            [peer_environments.quix(), "-c", program], capture_output=True, text=True, check=True
        )
    except (Unavailable, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def _kafka() -> str:
    try:
        find_java()
        return fetch_libraries().name.removeprefix("kafka-")
    except NoBroker:
        return ""
