"""Log to stderr, as JSON or as text for people.

``extra={...}`` has the facts that a program should find without parsing a sentence: further fields of the
JSON object. Messages contain all of them, too. Neither shows features, texts or secrets.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, Literal

from service.redaction import escaped, one_line

LogFormat = Literal["auto", "text", "json"]
"""`auto` is text on a terminal and JSON elsewhere."""

LOG_INTERVAL_SECONDS: Final = 60.0
"""Seconds between two log lines that summarise the progress."""

# Client libraries report every lost connection and every retry, kafka-python even each normal end of one,
# as errors; the service itself reports the consequences. Below INFO they print the passwords that they send.
_CLIENTS: Final = ("kafka", "confluent_kafka")
# librdkafka logs it as critical when a newer owner takes over a partition.
_NEVER: Final = logging.CRITICAL + 1
_STANDARD: Final = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Makes one JSON object of each record: time (RFC 3339, UTC), level, logger, message, further fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object, in one line whatever the message."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """Makes one line of each record, whatever its message contains; a traceback follows on separate lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """Return the line."""
        record.message = one_line(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802 - as logging declares it
        """Return the traceback."""
        return escaped(super().formatException(ei))


def log_to_stderr(level: str, form: LogFormat = "auto") -> None:
    """Log to stderr from `level` (debug, info, warning, error) on."""
    end_log()
    if form == "json" or (form == "auto" and not sys.stderr.isatty()):
        formatter: logging.Formatter = JsonFormatter()
    else:
        formatter = TextFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler = _StderrHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    if level == "debug":
        _hear_clients_from(logging.INFO)


def end_log() -> None:
    """Log only the service's warnings, each in a line that begins with `warning:`."""
    logging.lastResort = logging.StreamHandler()
    logging.lastResort.setLevel(logging.WARNING)
    logging.lastResort.setFormatter(TextFormatter("warning: %(message)s"))
    _hear_clients_from(_NEVER)
    root = logging.getLogger()
    for handler in _handlers():
        root.removeHandler(handler)
        root.setLevel(logging.WARNING)
        logging.captureWarnings(capture=False)


def logs_json() -> bool:
    """Return whether stderr is read by programs: then every message there should be a log line."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in _handlers())


def _hear_clients_from(level: int) -> None:
    for client in _CLIENTS:
        logging.getLogger(client).setLevel(level)


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """The service's handler, to be distinguished from other handlers."""


def _handlers() -> list[logging.Handler]:
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, _StderrHandler)]


_MAX_WARNED: Final = 64
_MAX_WARNED_LENGTH: Final = 1000
_warned_of: Final[set[str]] = set()


def is_to_warn(name: str) -> bool:
    """Return whether to warn of a feature: once, and of 64 short names, since producers choose the names."""
    is_new = name not in _warned_of and len(_warned_of) < _MAX_WARNED and len(name) <= _MAX_WARNED_LENGTH
    if is_new:
        _warned_of.add(name)
    return is_new
