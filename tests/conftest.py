"""Fixtures for every test: a real Apache Kafka broker, where this machine can have one.

What `nightly.toml` names is left out unless PERCEPTRON_TESTS is "all" (`make nightly`). Hypothesis tries more
examples then.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import re
import signal
import subprocess
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.support.example_counts import NIGHTLY, USUAL
from tests.support.kafka_broker import KafkaBroker, NoBroker, answers
from tests.support.speed import patience
from tests.support.started_once import started_once

DOCKER_ANSWERS_WITHIN_SECONDS = 5
A_CLIENT_ENDS_WITHIN_SECONDS = patience(20)

# What a shell runs in the background ignores Ctrl-C, and so would every process that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long examples take says something about the machine, and nothing about the law that is tested.
# Each run draws other examples: many runs of some see as much as one of many.
settings.register_profile(
    "all", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=NIGHTLY
)
settings.register_profile("", settings.get_profile("all"), max_examples=USUAL)
settings.load_profile(os.environ.get("PERCEPTRON_TESTS", ""))

LONGEST = "test_simulation.py"
IS_NIGHTLY = os.environ.get("PERCEPTRON_TESTS") == "all"
ONLY_NIGHTLY = re.compile(
    "|".join(tomllib.loads(Path(__file__).with_name("nightly.toml").read_text(encoding="utf-8")))
)


COLLECTED = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let the limit of a test scale with the speed of the machine, unless the command line has one."""
    if config.getoption("timeout", None) is None:
        config.option.timeout = patience(float(config.getini("timeout")))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Let one process collect first; the others find compiled what it has imported.

    Half of the time goes to compiling, as pytest rewrites each `assert`. The garbage collector keeps from
    what stays until the end, thousands of cases and everything they import: a full collection would take
    half a second, not 5 ms.
    """
    gc.disable()
    try:
        with Path(__file__).open() as first:
            try:
                fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(first, fcntl.LOCK_SH)
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m and -k: the fixture has all that there is
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for `make nightly`, and put the file first that takes longest.

    One process runs all of a file, and the others would wait for it at the end.
    """
    config.stash[COLLECTED] = [item.nodeid for item in items]
    items.sort(key=lambda item: item.path.name != LONGEST)
    if IS_NIGHTLY:
        return
    out = {item: None for item in items if ONLY_NIGHTLY.search(item.nodeid)}
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=[*out])


@pytest.fixture
def all_cases(request: pytest.FixtureRequest) -> list[str]:
    """Return the ids of all cases that there are, left out or not; it needs a run that is given no paths."""
    if request.config.args != request.config.getini("testpaths"):
        pytest.skip("only a part of the cases is collected")
    return request.config.stash[COLLECTED]


@pytest.fixture(scope="module", autouse=True)
def no_client_is_left_behind() -> Iterator[None]:
    """Hold each module to closing its Kafka clients.

    The thread of one that was forgotten keeps trying to reach its broker, and draws random numbers to
    wait by: Hypothesis, in tests that have nothing to do with it, takes that for tests that are not
    deterministic.
    """
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + A_CLIENT_ENDS_WITHIN_SECONDS
    while left := [t.name for t in {*threading.enumerate()} - before if "kafka" in t.name]:
        assert time.monotonic() < deadline, f"Kafka clients were not closed: {left}"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the `host:port` of a broker that all tests share: use topics and groups of your own.

    The first that works: the address in ``PERCEPTRON_TEST_KAFKA``, Docker, a JVM with Maven.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # of all processes of this run
    with contextlib.ExitStack() as stack:
        try:
            address = _given() or stack.enter_context(started_once(folder, _start_any))
        except NoBroker as error:
            _do_without(error)
        yield address


@pytest.fixture(scope="session")
def make_kafka_broker() -> Callable[..., KafkaBroker]:
    """Return a maker of brokers with settings of one's own; it needs a JVM and Maven."""

    def make(**options: object) -> KafkaBroker:
        try:
            return KafkaBroker(quick_start=True, **options)
        except NoBroker as error:
            _do_without(error)

    return make


@pytest.fixture(scope="module")
def _broker_of_the_module(make_kafka_broker: Callable[..., KafkaBroker]) -> Iterator[KafkaBroker]:
    with make_kafka_broker() as broker:
        yield broker


@pytest.fixture
def own_kafka_broker(_broker_of_the_module: KafkaBroker) -> Iterator[KafkaBroker]:
    """Return a broker of the module's own, to be stopped, killed and frozen at will.

    The next test finds it running.
    """
    yield _broker_of_the_module
    _broker_of_the_module.ensure_running()


def _given() -> str | None:
    address = os.environ.get("PERCEPTRON_TEST_KAFKA")
    if address and not answers(address):
        raise NoBroker(f"no Kafka broker answers at {address} (PERCEPTRON_TEST_KAFKA)")
    return address


def _start_any(stack: contextlib.ExitStack) -> str:
    reasons = []
    for start in (_start_container, _start_process):
        try:
            return start(stack)
        except NoBroker as error:
            reasons.append(str(error))
    raise NoBroker("; ".join(reasons))


def _start_process(stack: contextlib.ExitStack) -> str:
    return stack.enter_context(KafkaBroker(quick_start=True)).address


def _start_container(stack: contextlib.ExitStack) -> str:
    # Asked of the command: Docker's Python client leaks a socket where there is no engine.
    try:
        subprocess.run(
            ["docker", "version", "--format", "{{.Server.Version}}"],
            capture_output=True,
            check=True,
            timeout=DOCKER_ANSWERS_WITHIN_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        raise NoBroker("no Docker engine answers") from None
    from testcontainers.community.kafka import KafkaContainer  # noqa: PLC0415 - slow, and seldom needed

    container = KafkaContainer().with_kraft()
    # One node cannot keep the three copies that transactions ask for by default.
    container.with_env("KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR", "1")
    container.with_env("KAFKA_TRANSACTION_STATE_LOG_MIN_ISR", "1")
    container.with_env("KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS", "1000")
    return str(stack.enter_context(container).get_bootstrap_server())


def _do_without(reason: NoBroker) -> NoReturn:
    if os.environ.get("PERCEPTRON_REQUIRE_KAFKA") == "1":
        pytest.fail(f"PERCEPTRON_REQUIRE_KAFKA=1, but {reason}")
    pytest.skip(f"no Apache Kafka broker: {reason}")
