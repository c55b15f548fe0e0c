"""All settings and their declarations. `service.settings.load` loads them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final, Literal

import platformdirs
from pydantic import BaseModel, SecretStr, model_validator
from pydantic.fields import FieldInfo

from service.logs import LogFormat
from service.messages.labels import BINARY
from service.messages.paths import event_time_ms
from service.redaction import redacted_url
from service.settings import declaration as forms
from service.settings import parts
from service.settings.declaration import Decides, Names, Section, Table, Topic, disagreement, setting
from service.settings.kafka import KafkaSettings, RegistrySettings
from service.settings.mapping import EventSettings, LabelSettings
from service.stream.protocol import KafkaClient

_TOPIC: Final = "TOPIC"
"""A setting with the name of a topic."""


def _check_time(text: str) -> str:
    """Check a time in ISO 8601, which may be empty."""
    if text:
        event_time_ms(text)
    return text


class Settings(Table):
    """All settings, checked and frozen. Made by `service.settings.load.load_settings`."""

    broker: str = setting(
        "", form="URL", shown=redacted_url, check=forms.check_broker, section=Section.STREAM, common=True
    )
    """URL of the stream: kafka://host:9092, sqlite:///path/stream.db or memory:// (empty: a SQLite file in
    the user's data directory)."""
    kafka_client: KafkaClient = setting("kafka-python")
    """Client for kafka:// streams; confluent is faster, and needs the extra of this name."""
    group: str = setting("online-perceptron", min_length=1, max_length=249, common=True)
    """Name of the consumer group."""
    topic_prefix: Topic = setting("")
    """Prefix of the default names of all topics."""
    events_topic: Topic = setting("events", Decides.RECORDS, form=_TOPIC, common=True)
    """Topic that events are read from."""
    labels_topic: Topic = setting("labels", Decides.RECORDS, form=_TOPIC, common=True)
    """Topic that late labels are read from (empty: none)."""
    predictions_topic: Topic = setting("predictions", form=_TOPIC)
    """Topic that predictions and outcomes are written to."""
    dead_letters_topic: Topic = setting("dead-letters", form=_TOPIC)
    """Topic that rejected messages are written to."""
    checkpoints_topic: Topic = setting("checkpoints", form=_TOPIC)
    """Topic that the model's checkpoints are written to."""
    signals_topic: Topic = setting("signals", form=_TOPIC)
    """Topic that drifts are written to."""
    partitions: int = setting(1, ge=1, le=10_000, common=True)
    """Number of partitions of the topics that are created."""
    create_topics: Literal["outputs", "all", "none"] = setting("outputs")
    """Which missing topics are created: those that are written (outputs), also those that are read (all), or
    none."""

    model: str = setting(
        "perceptron", Decides.MODEL, form="MODEL", min_length=1, section=Section.MODEL, common=True
    )
    """Model that learns: a built-in name, package.module:factory or path/to/file.py:factory."""
    model_params: dict[str, Any] = setting(
        {}, Decides.MODEL, form="KEY=VALUE", option="--model-param", parse=forms.parse_object, common=True
    )
    """Parameter of the model; may be given several times."""
    classes: Names = setting((), Decides.MODEL, form="NAME,NAME[,…]", check=forms.check_classes, common=True)
    """Names of the classes, separated by commas, the negative one first."""
    text: Literal["words", "chars", "scripts"] = setting("words", Decides.TEXT)
    """What a text is cut into."""
    ngrams: tuple[int, int] = setting(
        (1, 1), Decides.TEXT, form="N|MIN-MAX", parse=forms.parse_ngrams, check=forms.check_ngrams
    )
    """Length of the n-grams made of the text: N or MIN-MAX."""
    lowercase: bool = setting(True, Decides.TEXT)
    """Whether text is lowercased first."""
    text_values: Literal["binary", "counts"] = setting("binary", Decides.TEXT)
    """Whether an n-gram's value is 1 or how often it occurs."""
    normalize: Literal["none", "l2"] = setting("none", Decides.TEXT)
    """Whether the features of each event are scaled to length 1 (l2)."""
    hash_bits: int = setting(0, Decides.MODEL, ge=0, le=30)
    """Number of bits of hashed features: at most 2**bits weights (0: features keep their names)."""
    hash_key: SecretStr = setting(
        SecretStr(""), Decides.MODEL, kept=lambda settings: settings.key_fingerprint, check=forms.check_key
    )
    """Secret key of the hash of a tenant's features (events.tenant, hash_bits)."""
    share_model: bool = setting(False, Decides.RECORDS)
    """Whether all partitions of the group learn one model."""

    bootstrap: Names = setting((), form="FILE", section=Section.OPERATION, common=True)
    """File that a new model is trained on before its first record; several files are merged by event time. If
    the topic has the same records, set start_from to skip them."""
    start_from: str = setting("", check=_check_time)
    """Time in ISO 8601 from which a partition without checkpoints processes records; earlier records are
    skipped (empty: none)."""
    label_timeout_seconds: float = setting(
        86_400.0, Decides.JOIN, gt=0, le=1e9, section=Section.LABELS, common=True
    )
    """Event time in seconds for which an event waits for its label."""
    label_correction_seconds: float = setting(0.0, Decides.JOIN, ge=0, le=1e9)
    """Event time in seconds after label_timeout_seconds for which a label still corrects
    events.label_on_timeout (0: as long as label_timeout_seconds)."""
    max_event_time_ahead_seconds: float = setting(3600.0, Decides.RECORDS, gt=0, le=1e9)
    """Seconds that an event's time may be ahead of the clock; an event further ahead is rejected."""
    max_pending: int = setting(50_000, Decides.JOIN, ge=1, le=100_000_000)
    """Largest number of pending events per partition."""
    max_pending_bytes: int = setting(256 << 20, Decides.JOIN, ge=1 << 20, le=1 << 40)
    """Largest memory in bytes for the pending events of a partition."""
    max_message_bytes: int = setting(1_048_576, Decides.RECORDS, ge=64, le=1 << 30, section=Section.OPERATION)
    """Size in bytes above which a message is rejected."""
    max_batch_records: int | None = setting(None, form="N|auto", ge=1, le=1_000_000, parse=forms.parse_batch)
    """Largest number of records in a batch (auto: as many as commit_interval_seconds and 16 MiB allow)."""
    commit_interval_seconds: float = setting(0.1, gt=0, le=3600)
    """Seconds from a record to its committed prediction, while the service keeps up."""
    session_timeout_seconds: float = setting(10.0, ge=1, le=1800)
    """Seconds without a heartbeat after which other processes take over a process's partitions."""
    standby: bool = setting(False, common=True)
    """Whether each process keeps the models of other processes' partitions, to take over at once."""
    snapshot_interval_seconds: float = setting(60.0, gt=0, le=86_400)
    """Seconds between two snapshots of a model that learns."""
    snapshot_interval_records: int = setting(500_000, ge=1, le=1_000_000_000)
    """Number of records after which a snapshot is always due."""
    snapshots_kept: int = setting(2, ge=1, le=1_000_000)
    """Number of newest snapshots that are kept, with the progress records after them."""
    on_data_loss: Literal["fail", "continue"] = setting("fail")
    """What to do if records of an input topic are lost that were not processed yet, or that a restored model
    needs."""
    checkpoint_key: SecretStr = setting(SecretStr(""))
    """Secret that signs the snapshots of River models, which are pickles."""
    http: str = setting(
        "127.0.0.1:8000", form="HOST:PORT", check=forms.check_http, section=Section.HTTP, common=True
    )
    """Address host:port of the HTTP server (empty: none)."""
    http_hosts: Names = setting((), check=forms.check_hosts)
    """Names that the Host header of an HTTP request may have, separated by commas (empty: the names of this
    machine; if other machines can reach the server, also IP addresses, and with a token any name)."""
    http_token: SecretStr = setting(SecretStr(""))
    """Token that HTTP requests must show, except to the probes (empty: none)."""
    http_show_events: Literal["auto", "yes", "no"] = setting("auto")
    """Whether the live page shows texts and features of events (auto: on loopback addresses)."""
    http_max_lag: int = setting(10_000, ge=1, le=10**9)
    """Number of waiting records of a partition from which on POST requests get 429."""
    ready_timeout_seconds: float = setting(3.0, gt=0, le=3600)
    """Seconds a batch, a commit, a poll or the opening of partitions may take before /readyz returns 503."""
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", parse=forms.lower, section=Section.OPERATION, common=True
    )
    """Lowest severity that is logged."""
    log_format: LogFormat = setting("auto")
    """Format of the log: text, json, or auto for text on a terminal and JSON elsewhere."""
    kafka: KafkaSettings = setting(KafkaSettings(), section=Section.STREAM)
    """Settings for kafka:// streams."""

    allow_hook: bool = setting(True, section=Section.INPUT)
    """Whether events.hook may name code; off in the image."""
    events: EventSettings = setting(EventSettings())
    """Mapping of the records of the events topic."""
    labels: LabelSettings = setting(LabelSettings(), section=Section.LABELS)
    """Mapping of the records of the labels topic."""

    decisions: tuple[parts.DecisionSettings, ...] = setting(
        (),
        Decides.DECISIONS,
        section=Section.DECISIONS,
        form="JSON",
        shown=forms.as_tables,
        max_length=32,
        parse=forms.parse_tables,
    )
    """Which events are acted on: tables [[decisions]] with a name and a goal, or JSON."""
    decisions_half_life: int = setting(100_000, Decides.DECISIONS, ge=100, le=1_000_000_000)
    """Number of labels after which a label counts half as much in the thresholds of decisions."""
    costs: parts.CostSettings = setting(parts.CostSettings())
    """What mistakes cost."""
    drift: parts.DriftSettings = setting(parts.DriftSettings())
    """Detection of drifts."""
    webhooks: tuple[parts.WebhookSettings, ...] = setting(
        (),
        shown=lambda webhooks: [webhook.shown() for webhook in webhooks],
        max_length=100,
        parse=forms.parse_tables,
        check=parts.check_titles,
    )
    """Where `perceptron relay` posts alerts: tables [[webhooks]] with url, on, name, secret, timeout_seconds
    and concurrency, or JSON."""
    schema_registry: RegistrySettings = setting(RegistrySettings(), section=Section.INPUT)
    """Settings of the Schema Registry."""

    @model_validator(mode="before")
    @classmethod
    def _prefix_topics(cls, given: Any) -> Any:  # noqa: ANN401 - what is to be checked yet
        prefix = given.get("topic_prefix") if isinstance(given, dict) else ""
        if not isinstance(prefix, str) or not prefix:
            return given
        return {name: prefix + cls.model_fields[name].default for name in TOPIC_SETTINGS} | given

    @model_validator(mode="after")
    def _check_agreement(self) -> Settings:
        for check in AGREEMENTS:
            check(self)
        return self

    @property
    def hash_key_bytes(self) -> bytes:
        """The key in 64 bytes, from a secret of any length; empty if no feature is hashed with it."""
        secret = self.hash_key.get_secret_value()
        is_used = secret and self.hash_bits and self.events.tenant
        return blake2b(secret.encode()).digest() if is_used else b""

    @property
    def key_fingerprint(self) -> str:
        """The fingerprint of the key in a model; empty if the model is made without a key."""
        key = self.hash_key_bytes
        if not key:
            return ""
        return f"fingerprint {blake2b(b'', key=key, digest_size=8, person=b'fingerprint').hexdigest()}"

    @property
    def correction_seconds(self) -> float:
        """Event time after the timeout during which a label may correct the assumed one."""
        return self.label_correction_seconds or self.label_timeout_seconds

    @property
    def broker_url(self) -> str:
        """The stream's URL: `broker`, or the URL of the SQLite file in the user's data directory."""
        folder = platformdirs.user_data_path("online-perceptron", appauthor=False)
        return self.broker or f"sqlite:///{folder / 'stream.db'}"

    @property
    def written_at_once(self) -> int:
        """Number of records that `produce` and `dead-letters replay` write at a time."""
        return self.max_batch_records or 1000

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can reach the HTTP server."""
        return bool(self.http) and forms.is_loopback(self.http)

    @property
    def takes_inputs(self) -> bool:
        """Whether events and labels may be posted: from this machine, or if web pages cannot post."""
        return self.is_on_loopback or bool(self.http_hosts or self.http_token.get_secret_value())

    @property
    def shows_events(self) -> bool:
        """Whether the live page may show the contents of events."""
        return self.http_show_events == "yes" or (self.http_show_events == "auto" and self.is_on_loopback)


def _check_topics_differ(settings: Settings) -> None:
    used: dict[str, str] = {}
    for name in TOPIC_SETTINGS:
        topic = getattr(settings, name)
        if not topic and name != "labels_topic":
            raise disagreement((name,), "expected a topic name, got an empty one")
        if topic and topic in used:
            raise disagreement((name, used[topic]), f"{used[topic]} and {name} must differ")
        used[topic] = name


def _check_hook(settings: Settings) -> None:
    if settings.events.hook and not settings.allow_hook:
        raise disagreement(("events.hook", "allow_hook"), "events.hook names code, but allow_hook is off")


def _check_classes(settings: Settings) -> None:
    """Check the classes that other settings name, and how many they need."""
    parts.check_decisions(settings.decisions, settings.costs, settings.classes)
    settings.events.truth_on_timeout(settings.classes)
    has_rates = any(parts.LABEL in window.of for window in settings.events.windows)
    if has_rates and len(settings.classes) > BINARY:
        reason = "@label counts positive labels, which need two classes"
        raise disagreement(("events.windows", "classes"), reason)


def _check_webhooks(settings: Settings) -> None:
    known = [decision.name for decision in settings.decisions] or ["positive"] * settings.costs.are_given
    for named in (each for webhook in settings.webhooks for each in webhook.on):
        if named == parts.DRIFT and not settings.drift.is_on:
            raise disagreement(
                ("webhooks", "drift.reaction"), "drifts are not recorded, as drift.reaction is none"
            )
        if known and named.startswith(parts.DECISION) and named.removeprefix(parts.DECISION) not in known:
            reason = f"unknown decision {named!r}, expected {', '.join(known)}"
            raise disagreement(("webhooks", "decisions"), reason)


def _check_needed(settings: Settings) -> None:
    values = {**setting_values(settings), "decisions": settings.decisions or settings.costs.are_given}
    for name, needed in _NEEDED.items():
        if values[needed] in ("", "none", False) and values[name] != FIELDS[name].default:
            raise disagreement((name, needed), f"has no effect without {needed}")


AGREEMENTS = (_check_topics_differ, _check_hook, _check_classes, _check_webhooks, _check_needed)
"""Checks of all settings; each raises if some disagree."""


def _sections() -> dict[str, Section]:
    sections: dict[str, Section] = {}
    section = Section.STREAM
    for name, field in Settings.model_fields.items():
        sections[name] = section = forms.declaration(field).section or section
    return sections


TABLES: Final[Mapping[str, type[BaseModel]]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}
"""Settings that are tables of settings."""
FIELDS: Final[Mapping[str, FieldInfo]] = {
    **{name: field for name, field in Settings.model_fields.items() if name not in TABLES},
    **{f"{table}.{name}": field for table in TABLES for name, field in TABLES[table].model_fields.items()},
}
"""All settings without the tables themselves, by dotted name; those in tables come last."""
DECLARED: Final[Mapping[str, forms.Declaration]] = {
    name: forms.declaration(field) for name, field in FIELDS.items()
}
SECRETS: Final = frozenset(
    name
    for name, field in FIELDS.items()
    if field.annotation in {SecretStr, tuple[parts.WebhookSettings, ...]}
)
"""Settings that are never shown and have no option."""
SECTIONS: Final[Mapping[str, Section]] = _sections()
"""The section of a command's help for each setting, or for the table that contains it."""
TOPIC_SETTINGS: Final = tuple(name for name, declared in DECLARED.items() if declared.form == _TOPIC)
MAPPING: Final = tuple(name for name in FIELDS if name.startswith(("events.", "labels.")))
"""Settings of the mapping: the locations of fields in records of any shape."""
_NEEDED: Final = {
    **{name: "labels_topic" for name in FIELDS if name.startswith("labels.")},
    **dict.fromkeys(("label_correction_seconds", "events.unlabelled"), "events.label_on_timeout"),
    "drift.labels_between_false_alarms": "drift.reaction",
    "decisions_half_life": "decisions",
}
"""Settings that have no effect without another one, by name."""


def names_that_decide(*what: Decides) -> tuple[str, ...]:
    """Return the names of the settings that decide any of these."""
    return tuple(name for name, declared in DECLARED.items() if declared.decides in what)


def setting_values(settings: Settings) -> Mapping[str, object]:
    """Return every setting's value by dotted name, secrets still wrapped."""
    values: dict[str, object] = {}
    for name, value in settings:
        nested = dict(value) if isinstance(value, (BaseModel, dict)) else {}
        values |= {f"{name}.{key}": inner for key, inner in nested.items()} or {name: value}
    return values


# The config fingerprint: the settings that decide something, as snapshots and model files keep them.
HASH_KEY: Final = "hash_key"
OF_MODELS: Final = names_that_decide(Decides.MODEL, Decides.TEXT, Decides.FEATURES)
"""Settings under which a model is the same model."""
KEPT: Final = tuple(name for name, declared in DECLARED.items() if declared.decides != Decides.NOTHING)
OF_MODEL_FILES: Final = tuple(name for name in KEPT if name in {*OF_MODELS, *MAPPING})


def fingerprint(settings: Settings, names: Iterable[str] = KEPT) -> dict[str, Any]:
    """Return the fingerprint of the named settings, in the form in which a file returns it.

    Settings of tables, and those with a computed entry, are left out at their defaults.

    >>> fingerprint(Settings(hash_bits=4), ("hash_bits", "text_values", "events.id", "hash_key"))
    {'hash_bits': 4, 'text_values': 'binary'}
    """
    values = _kept(settings, names)
    unset = {
        name
        for name, value in values.items()
        if (DECLARED[name].kept and not value) or ("." in name and value == FIELDS[name].default)
    }
    return _as_read({name: value for name, value in values.items() if name not in unset})


def _kept(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    plain = settings.model_dump()
    entries = {}
    for name in names:
        table, _, entry = name.rpartition(".")
        make = DECLARED[name].kept
        entries[name] = make(settings) if make else (plain[table] if table else plain)[entry]
    return entries


def _as_read(values: dict[str, Any]) -> dict[str, Any]:
    from perceptron_core.formats.packed import pack, unpack  # noqa: PLC0415 - it brings River

    read: dict[str, Any] = unpack(pack(values))
    return read


@functools.cache
def defaults() -> dict[str, Any]:
    """Return the values of settings that a fingerprint leaves out."""
    return _as_read(_kept(Settings(), KEPT))
