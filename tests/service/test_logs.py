"""A log line is a JSON object off a terminal and readable on one; clients are heard when asked for."""

import io
import json
import logging
import sys
import warnings
from datetime import UTC, datetime

import pytest

from service.logs import end_log, log_to_stderr, logs_json


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def log_ends():
    yield
    end_log()


@pytest.fixture
def logged(capsys):
    """Return what was logged off a terminal since the last call."""
    return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_log_line_without_terminal_is_one_json_object(logged):
    before = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    log_to_stderr("info")
    logging.getLogger("service.x").warning("%d\nlines, “two”", 2, extra={"partition": 3})
    (line,) = logged()
    assert before <= line.pop("time") <= "9"
    assert line == {"level": "warning", "logger": "service.x", "message": "2\nlines, “two”", "partition": 3}


def test_log_line_on_a_terminal_is_plain_text(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    log_to_stderr("info")
    logging.getLogger("service.x").warning("it is\n\x1bfull", extra={"partition": 3})
    assert sys.stderr.getvalue().endswith(" WARNING service.x: it is\\n\\x1bfull\n")
    assert not logs_json()


@pytest.mark.parametrize("form", ["text", "json"])
def test_chosen_log_format_applies_on_and_off_a_terminal(monkeypatch, form):
    for stderr in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stderr)
        log_to_stderr("info", form)
        logging.getLogger("service.x").info("hello")
        assert stderr.getvalue().startswith("{") == logs_json() == (form == "json")


def test_messages_below_the_level_are_not_logged(logged):
    log_to_stderr("warning")
    logging.getLogger("service.x").info("hello")
    assert logged() == []


def test_exception_is_a_field(logged):
    log_to_stderr("info")
    try:
        int("no")
    except ValueError:
        logging.getLogger("service.x").exception("it failed")
    (line,) = logged()
    assert line["exception"].endswith("base 10: 'no'")


def test_python_warning_is_logged(logged):
    log_to_stderr("info")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    (line,) = logged()
    assert "DeprecationWarning: old" in line["message"]


@pytest.mark.parametrize("client", ["kafka.net.transport", "confluent_kafka"])
def test_messages_of_clients_appear_at_debug_only_without_requests(logged, client):
    for level in ("info", "debug"):
        log_to_stderr(level)
        logging.getLogger(client).error("socket disconnected at %s", level)
        logging.getLogger(client).debug("Request: SaslAuthenticateRequest(auth_bytes=b'hunter2')")
    assert [line["message"] for line in logged()] == ["socket disconnected at debug"]


def test_logging_is_restored_afterwards(logged):
    log_to_stderr("debug")
    end_log()
    logging.getLogger("service.x").info("hello")
    assert logged() == []
    assert logging.getLogger().level == logging.WARNING
