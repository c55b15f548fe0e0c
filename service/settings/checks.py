"""Checks of single settings, which return the value or raise `ValueError` with the expected form."""

from __future__ import annotations

import re
from typing import Final, get_args

from pydantic import BaseModel, SecretStr, ValidationInfo

from service.messages.event_times import event_time_ms
from service.settings.addresses import split_address

MAX_NGRAM: Final = 10

_SHORTEST_KEY: Final = 16

_HOST_NAME: Final = re.compile(r"[a-z0-9._-]+")
_IPV6: Final = re.compile(r"[0-9a-f:.]+")
_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # what Apache Kafka's Topic.validate accepts


def check_is_no_boolean(cls: type[BaseModel], value: object, info: ValidationInfo) -> object:
    """Return the value of a setting; refuse a boolean for a number, which Pydantic takes as 0 or 1."""
    kind = cls.model_fields[info.field_name or ""].annotation
    if {int, float}.isdisjoint((kind, *get_args(kind))):
        return value
    if any(isinstance(each, bool) for each in (value if isinstance(value, list) else [value])):
        raise ValueError("expected a number, not a boolean")
    return value


def check_broker(broker: str) -> str:
    """Return a stream's URL, which may be empty."""
    if broker and not broker.startswith(("kafka://", "sqlite://", "memory://")):
        raise ValueError("expected kafka://host:9092, sqlite:///path/stream.db or memory://")
    if broker.startswith("kafka://") and "@" in broker:
        raise ValueError("credentials belong in kafka.sasl_username and kafka.sasl_password, not in the URL")
    return broker


def check_topic_name(name: str) -> str:
    """Return the name of a topic, which may be empty."""
    if name and (not _TOPIC_NAME.fullmatch(name) or name in {".", ".."}):
        raise ValueError("a topic's name has 1 to 249 of the characters a-z A-Z 0-9 . _ -")
    return name


def check_classes(classes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of classes: none, or at least two that differ."""
    if classes and (len(set(classes)) < max(2, len(classes)) or not all(classes)):
        raise ValueError("expected at least two different names, such as ham,spam")
    return classes


def check_ngrams(ngrams: tuple[int, int]) -> tuple[int, int]:
    """Return the lengths of the shortest and the longest n-gram."""
    if not 1 <= ngrams[0] <= ngrams[1] <= MAX_NGRAM:
        raise ValueError(f"expected 1 <= MIN <= MAX <= {MAX_NGRAM}")
    return ngrams


def check_time(text: str) -> str:
    """Return a time in ISO 8601, which may be empty."""
    if text:
        event_time_ms(text)
    return text


def check_http(address: str) -> str:
    """Return the address of the HTTP server, which may be empty."""
    if address:
        split_address(address)
    return address


def check_hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names as the header Host has them, without a port: in lower case, IPv6 in brackets."""
    return tuple(_host(name) for name in names)


def check_key(key: SecretStr) -> SecretStr:
    """Return a secret, which may be empty, but not so short that it can be guessed from its fingerprint."""
    if 0 < len(key.get_secret_value()) < _SHORTEST_KEY:
        raise ValueError(f"expected at least {_SHORTEST_KEY} characters, as `openssl rand -hex 32` prints")
    return key


def _host(name: str) -> str:
    bare = name.lower().removeprefix("[").removesuffix("]")
    is_ipv6 = bare.count(":") > 1
    if not (_IPV6 if is_ipv6 else _HOST_NAME).fullmatch(bare):
        raise ValueError(f"{name!r}: expected a name or an address without a port, such as localhost")
    return f"[{bare}]" if is_ipv6 else bare
