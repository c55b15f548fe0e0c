"""All errors that the service raises on purpose, in one tree; the exit codes; the texts of other errors.

    ServiceError                  exit code 1, as all classes below but two
     ├─ ConfigurationError        a setting is wrong; exit code 2
     ├─ InputFileError            a file of the user cannot be read in its format
     ├─ ServerError               the HTTP address cannot be used
     ├─ CheckpointError           the committed state cannot be restored
     │   ├─ NewerRelease          a newer release wrote it
     │   ├─ SettingsDiffer        it was made with other settings; exit code 2
     │   └─ InputLost             required records are missing from an input topic
     ├─ NoSuchModel               a request for a partition that is not served here
     ├─ ModelBusy                 a request that came while the model was learning
     ├─ IdTaken                   an event with an id that another event has
     ├─ TooManyWaiting              an event or a label that came while too many were waiting
     ├─ PartitionMoved            an event or a label whose partition is no longer served here
     ├─ PartitionElsewhere        an event or a label whose partition another process owns
     ├─ AppendUnsure              an event or a label that may have been appended, or not
     └─ TransportError            the stream failed, or rejected it
         ├─ TransportUnavailable  try again later: broker away, file locked
         ├─ TransactionFailed     nothing of this batch was written: roll back and repeat
         ├─ OwnershipLost         another process owns the partition now
         ├─ OffsetOutOfRange      there is no record at a position, and there will never be one
         ├─ TopicMissing          a topic does not exist and must not be created
         ├─ AccessDenied          authentication or authorisation failed
         ├─ MessageTooLarge       a record is larger than the stream's limit
         ├─ StorageFull           the disk or the stream's quota is full
         └─ RegistryUnavailable   try again later: the Schema Registry does not answer

What a client library or the operating system raises is translated into this tree
at one boundary (``service/stream``); no other error passes it.

`LazyGroup.main` (``service/cli/app.py``) reports errors and turns them into exit codes: 0 success, 1 failure,
2 a wrong setting or usage, 130 interrupted (Ctrl-C).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

FAILURE: Final = 1
"""Exit code after an error that does not concern settings."""

USAGE: Final = 2
"""Exit code after `ConfigurationError` and `SettingsDiffer`, or a command line that cannot be parsed."""

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""


def raise_first(errors: list[Any]) -> None:
    """Raise the first of the errors, if there is one, and clear the list.

    Only the list may refer to them: a local variable would form a cycle with the traceback, which refers to
    its frame and to the frames of all callers.
    """
    if errors:
        error: BaseException = errors[0]
        errors.clear()
        try:
            raise error
        finally:
            del error


def cut(text: str, longest: int = 2000) -> str:
    """Return a text without its middle, if it is longer than `longest`.

    >>> cut("1234567", 4)
    '12…67'
    """
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


class ServiceError(Exception):
    """Base class of all. ``str()`` contains what happened, where and why; `hint` names what to change.

    Parameters
    ----------
    lines
        What happened, where (``topic[partition]@offset``, a file, a setting) and why: one line each.
    hint
        What the reader can do about it: one sentence that names the setting. May be empty.
    partition
        Number of the partition that it is about, if its class is about one.

    """

    def __init__(self, *lines: str, hint: str = "", partition: int = 0) -> None:
        self.lines = tuple(cut(line) for line in lines)
        self.hint, self.partition = cut(hint), partition
        super().__init__("\n".join(self.lines))

    def copied(self) -> Self:
        """Return a copy, to be raised again: the same object would keep the frames of both tracebacks."""
        copy = type(self)(*self.lines, hint=self.hint, partition=self.partition)
        copy.__cause__ = self.__cause__
        return copy


class ConfigurationError(ServiceError):
    """A setting has a value that cannot be used. The message names the setting."""

    @classmethod
    def needs(cls, what: str, package: str, extra: str) -> ConfigurationError:
        """Return the error for `what`, which needs a package that is not installed; `extra` installs it."""
        hint = f"install it: pip install 'online-perceptron[{extra}]'"
        return cls(f"{what} needs the package {package}, which is not installed", hint=hint)


class InputFileError(ServiceError):
    """A file that the user names is missing, unreadable or not in the specified format."""


class ServerError(ServiceError):
    """The HTTP server cannot listen at the configured address."""


class CheckpointError(ServiceError):
    """A snapshot or the log after it is missing, damaged, or does not fit the settings."""


class NewerRelease(CheckpointError):
    """A checkpoint was written by a newer release; it is not damaged."""

    @classmethod
    def wrote(cls, what: str) -> NewerRelease:
        """Return the error for `what`, which names the checkpoint and the unknown part of it."""
        hint = (
            "start that release or a newer one, and reset nothing: the model is intact; to downgrade, run "
            "`perceptron checkpoint export` with it, then `checkpoint reset` and `checkpoint import` here"
        )
        return cls(f"{what}: a newer release wrote it", hint=hint)


class SettingsDiffer(CheckpointError):
    """A checkpoint was made with another setting; to start again with the same settings does not help."""


class InputLost(CheckpointError):
    """An input topic lost records that were not processed yet, or that the restore of a model needs."""


class NoSuchModel(ServiceError):
    """The requested partition is not served by this process."""


class ModelBusy(ServiceError):
    """The model is learning a batch that takes long; the same request may succeed later."""


class IdTaken(ServiceError):
    """An event to be appended has the id of another event."""


class TooManyWaiting(ServiceError):
    """Too many records of the partition wait to be processed; the same request may succeed later."""


class PartitionMoved(ServiceError):
    """The partition got another owner while an event or a label waited to be appended."""


class PartitionElsewhere(ServiceError):
    """Another process of the group owns the partition of an event or a label."""


class AppendUnsure(ServiceError):
    """An append failed: the event or label may or may not be on its topic; a repetition is safe."""


class TransportError(ServiceError):
    """The stream (SQLite file or Kafka broker) failed, or rejected an operation; see the subclasses."""


class TransportUnavailable(TransportError):
    """The stream cannot be reached now; the same call may succeed later."""


class TransactionFailed(TransportError):
    """The transaction was rolled back, or may have been: restore the task and repeat the batch."""


class OwnershipLost(TransportError):
    """Another process owns the partition now; this process must not write for it any more."""


class OffsetOutOfRange(TransportError):
    """A consumer's position is before the first record of a partition, or after its end.

    The delivery of the partition stops until `Consumer.start`.
    """


class TopicMissing(TransportError):
    """A topic does not exist and must not be created."""


class AccessDenied(TransportError):
    """Authentication or authorisation failed."""


class MessageTooLarge(TransportError):
    """A record is larger than the stream accepts."""


class StorageFull(TransportError):
    """There is no space left to write."""


class RegistryUnavailable(TransportError):
    """The Schema Registry does not answer, or not correctly; the same request may succeed later."""


TABLES: Final = tomllib.loads(Path(__file__).with_name("errors.toml").read_text(encoding="utf-8"))
"""What errors of Pydantic, its JSON reader and click are in the project's terms; see the file."""
_FOUND: Final = {bool: "a boolean", dict: "an object", list: "a list", str: "a string", type(None): "null"}
_FOUND_NUMBERS: Final = {int: "a number", float: "a number"}


def pydantic_sentence(error: Mapping[str, Any], what: str = "field") -> str:
    """Return why Pydantic rejected a value: what it expected and, for a wrong type, what it got.

    The text does not contain the value, which may be a secret.

    Parameters
    ----------
    error
        An entry of `ValidationError.errors`.
    what
        What to call an unknown name.

    """
    kind = error.get("type", "value_error")
    if kind in {"value_error", "settings_disagree"}:
        return str(error["msg"]).removeprefix("Value error, ")
    if kind == "missing":
        return "missing"
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"unknown {what}"
    context = error.get("ctx", {}).items()
    bounds = {name: f"{each:g}" if isinstance(each, float) else each for name, each in context}
    expected = f"expected {TABLES['expected'].get(kind, 'another value').format_map(bounds)}"
    got = (_FOUND | _FOUND_NUMBERS).get(type(error.get("input", ...))) if kind.endswith("_type") else None
    return f"{expected}, got {got}" if got else expected


def bounds_in_words(bounds: str) -> str:
    """Return bounds of a number, in click's notation, in words.

    >>> bounds_in_words("x>=1"), bounds_in_words("0<=x<1")
    ('at least 1', '0 to below 1')
    """
    for sign, words in TABLES["bounds"].items():
        bounds = bounds.replace(sign, words)
    return bounds


def click_sentence(message: str) -> str:
    """Return a message of click in the terms of the project."""
    start, is_range, bounds = message.partition(" is not in the range ")
    message = start + is_range + bounds_in_words(bounds)
    for pattern, ours in TABLES["click"].items():
        if match := re.fullmatch(pattern, message, re.DOTALL):
            message = match.expand(ours).removesuffix("; expected ").removesuffix("; did you mean ")
    return message[:1].lower() + message[1:]
