"""The settings themselves: names, meanings, bounds, defaults. `service.settings.load` loads them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from service.logs import LogFormat
from service.settings.addresses import default_stream_path, is_loopback
from service.settings.agreement import AGREEMENTS
from service.settings.checks import (
    check_broker,
    check_classes,
    check_hosts,
    check_http,
    check_is_no_boolean,
    check_key,
    check_ngrams,
    check_time,
    check_topic_name,
)
from service.settings.forms import lower, parse_batch, parse_ngrams, parse_object, split_names
from service.settings.kafka import KafkaClient, KafkaSettings
from service.settings.mapping import EventSettings, LabelSettings
from service.settings.names import TOPIC_SETTINGS
from service.settings.registry import RegistrySettings
from service.settings.tables.class_weights import ClassWeight
from service.settings.tables.costs import CostSettings
from service.settings.tables.decisions import DecisionSettings, parse_decisions
from service.settings.tables.drift import DriftSettings
from service.settings.tables.webhooks import WebhookSettings, parse_webhooks

ENVIRONMENT_PREFIX = "PERCEPTRON_"


class Settings(BaseSettings):
    """Everything that can be set, checked and frozen. Made by `service.settings.load.load_settings`."""

    model_config = SettingsConfigDict(
        allow_inf_nan=False,
        frozen=True,
        extra="forbid",
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter="__",
    )

    broker: str = Field(
        "",
        description="URL of the stream: kafka://host:9092, sqlite:///path/stream.db or memory:// "
        "(empty: a SQLite file in the user's data directory).",
    )
    kafka_client: KafkaClient = Field(
        "kafka-python",
        description="Client for kafka:// streams; confluent is faster, and an extra to be installed.",
    )
    group: str = Field(
        "online-perceptron", min_length=1, max_length=249, description="Name of the consumer group."
    )
    events_topic: str = Field("events", description="Topic that events are read from.")
    labels_topic: str = Field("labels", description="Topic that late labels are read from (empty: none).")
    predictions_topic: str = Field(
        "predictions", description="Topic that predictions and outcomes are written to."
    )
    dead_letters_topic: str = Field("dead-letters", description="Topic that refused messages are written to.")
    checkpoints_topic: str = Field(
        "checkpoints", description="Topic that the model's checkpoints are written to."
    )
    signals_topic: str = Field("signals", description="Topic that drifts are written to.")
    partitions: int = Field(
        1, ge=1, le=10_000, description="Number of partitions of the topics that are created."
    )
    create_topics: bool = Field(default=True, description="Create the topics that do not exist.")

    model: str = Field(
        "perceptron",
        min_length=1,
        description="Model that learns: a built-in name, package.module:factory or path/to/file.py:factory.",
    )
    model_params: Annotated[dict[str, Any], BeforeValidator(parse_object)] = Field(
        default_factory=dict, description="Parameter of the model; may be given several times."
    )
    classes: Annotated[tuple[str, ...], BeforeValidator(split_names)] = Field(
        (), description="Names of the classes, separated by commas, the negative one first."
    )
    class_weights: Annotated[dict[str, ClassWeight], BeforeValidator(parse_object)] = Field(
        default_factory=dict,
        description="How much labels of a class count in learning (else 1); may be given several times.",
    )
    text: Literal["words", "chars", "scripts"] = Field("words", description="What a text is cut into.")
    ngrams: Annotated[tuple[int, int], BeforeValidator(parse_ngrams)] = Field(
        (1, 1), description="Length of the n-grams made of the text: N or MIN-MAX."
    )
    token_pattern: str = Field(
        r"\w+", min_length=1, description="Regular expression that finds the words of a text."
    )
    lowercase: bool = Field(default=True, description="Turn text into lower case first.")
    text_values: Literal["binary", "counts"] = Field(
        "binary", description="Whether an n-gram's value is 1 or how often it occurs."
    )
    normalize: Literal["none", "l2"] = Field(
        "none", description="Scale the features of each event to length 1 (l2)."
    )
    hash_bits: int = Field(
        0, ge=0, le=30, description="Hash the features into 2 to this power weights (0: off)."
    )
    hash_key: SecretStr = Field(
        SecretStr(""),
        description="Secret that goes into the hash of a tenant's features (events.tenant, hash_bits).",
    )
    share_model: bool = Field(
        default=False, description="Whether all partitions of the group learn one model."
    )

    bootstrap: Annotated[tuple[str, ...], BeforeValidator(split_names)] = Field(
        (),
        description="File that a model is trained on before its first record, once; several are merged by "
        "event time. start_from leaves out what the topic still holds of it.",
    )
    bootstrap_labels: str = Field(
        "", description="File of labels, each with the id of its event in a file of bootstrap."
    )
    start_from: str = Field(
        "",
        description="Time in ISO 8601 from which on a partition without checkpoints processes records; "
        "earlier ones are skipped (empty: all there are).",
    )
    label_timeout_seconds: float = Field(
        86_400.0, gt=0, le=1e9, description="Event time in seconds for which an event waits for its label."
    )
    label_correction_seconds: float = Field(
        0.0,
        ge=0,
        le=1e9,
        description="Event time in seconds after label_timeout_seconds for which a label still corrects "
        "events.label_on_timeout (0: as long again).",
    )
    max_event_time_ahead_seconds: float = Field(
        3600.0,
        gt=0,
        le=1e9,
        description="Seconds that an event's time may be ahead of the clock; one beyond is refused.",
    )
    max_pending: int = Field(
        50_000, ge=1, le=100_000_000, description="Events per partition kept for their labels at most."
    )
    max_pending_bytes: int = Field(
        256 << 20,
        ge=1 << 20,
        le=1 << 40,
        description="Memory in bytes per partition for events kept for their labels, at most.",
    )
    max_message_bytes: int = Field(
        1_048_576, ge=64, le=1 << 30, description="Size in bytes above which a message is refused."
    )
    max_batch_records: Annotated[int | None, BeforeValidator(parse_batch)] = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Number of records in a batch at most (auto: as many as commit_interval_seconds and "
        "16 MiB allow).",
    )
    commit_interval_seconds: float = Field(
        0.1,
        gt=0,
        le=3600,
        description="Seconds from a record to its committed answer, while the service keeps up.",
    )
    session_timeout_seconds: float = Field(
        10.0, ge=1, le=1800, description="Seconds without a sign of life after which others take over."
    )
    standby: bool = Field(
        default=False,
        description="Whether each process keeps the models of the others' partitions, to take over at once.",
    )
    snapshot_interval_seconds: float = Field(
        60.0, gt=0, le=86_400, description="Seconds between two snapshots of a model that learns."
    )
    snapshot_interval_records: int = Field(
        500_000, ge=1, le=1_000_000_000, description="Records after which a snapshot is due in any case."
    )
    snapshots_kept: int = Field(
        2, ge=1, le=1_000_000, description="Newest snapshots kept, with the progress that follows them."
    )
    on_data_loss: Literal["fail", "continue"] = Field(
        "fail",
        description="What to do when records of an input topic are gone that were not processed yet, or that "
        "are needed to restore a model.",
    )
    checkpoint_key: SecretStr = Field(
        SecretStr(""), description="Secret that signs the snapshots of River models, which are pickles."
    )
    max_rejected_ratio: float = Field(
        1.0, gt=0, le=1, description="Share of bad messages above which the service stops (1: never)."
    )
    rejected_window: int = Field(
        1000, ge=10, le=1_000_000, description="Messages over which that share is taken."
    )
    http: str = Field("127.0.0.1:8000", description="Address host:port of the HTTP server (empty: none).")
    http_hosts: Annotated[tuple[str, ...], BeforeValidator(split_names)] = Field(
        (),
        description="Names in the header Host that HTTP requests are answered under, separated by commas "
        "(empty: those of this machine; where others may ask, also addresses, and with a token any).",
    )
    http_token: SecretStr = Field(
        SecretStr(""), description="Token that HTTP requests must show, except to the probes (empty: none)."
    )
    http_show_events: Literal["auto", "yes", "no"] = Field(
        "auto",
        description="Whether the live page shows texts and features of events (auto: on loopback addresses).",
    )
    http_max_lag: int = Field(
        10_000, ge=1, le=10**9, description="Waiting records of a partition at which POSTs are answered 429."
    )
    ready_timeout_seconds: float = Field(
        3.0, gt=0, le=3600, description="Seconds a batch or a poll may take before /readyz says no."
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(lower)] = Field(
        "info", description="Least severity of what is logged."
    )
    log_format: LogFormat = Field(
        "auto", description="Form of the log: text, json, or auto for text on a terminal and JSON elsewhere."
    )
    log_interval_seconds: float = Field(
        60.0, gt=0, le=86_400, description="Seconds between two log lines that sum up what was done."
    )
    kafka: Annotated[KafkaSettings, BeforeValidator(parse_object)] = Field(
        default_factory=KafkaSettings, description="Settings for kafka:// streams."
    )

    allow_hook: bool = Field(
        default=True, description="Whether events.hook may name code; the image has no here."
    )
    events: Annotated[EventSettings, BeforeValidator(parse_object)] = Field(
        default_factory=EventSettings,
        description="Where the records of the events topic have what is needed.",
    )
    labels: Annotated[LabelSettings, BeforeValidator(parse_object)] = Field(
        default_factory=LabelSettings,
        description="Where the records of the labels topic have what is needed.",
    )

    decisions: Annotated[
        tuple[DecisionSettings, ...], BeforeValidator(parse_decisions), BeforeValidator(parse_object)
    ] = Field(
        (),
        description="Which events are acted on: tables [[decisions]] with a name and a goal, or JSON.",
    )
    decisions_half_life: int = Field(
        10_000,
        ge=100,
        le=1_000_000_000,
        description="Labels after which one counts half as much in the thresholds of decisions.",
    )
    costs: Annotated[CostSettings, BeforeValidator(parse_object)] = Field(
        default_factory=CostSettings, description="What mistakes cost."
    )
    drift: Annotated[DriftSettings, BeforeValidator(parse_object)] = Field(
        default_factory=DriftSettings, description="What comes of drifts."
    )
    predictions_format: Literal["json", "avro", "json-schema"] = Field(
        "json",
        description="How predictions and outcomes are written: json; avro or json-schema, with a schema that "
        "is registered as PREDICTIONS_TOPIC-value.",
    )
    webhooks: Annotated[
        tuple[WebhookSettings, ...], BeforeValidator(parse_webhooks), BeforeValidator(parse_object)
    ] = Field(
        (),
        description="Where `perceptron relay` posts alerts: tables [[webhooks]] with url, on, name, secret, "
        "template, timeout_seconds and concurrency, or JSON.",
    )
    schema_registry: Annotated[RegistrySettings, BeforeValidator(parse_object)] = Field(
        default_factory=RegistrySettings, description="Settings of the Schema Registry."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is Pydantic's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use the given values alone: `load_settings` reads the sources, to know the origin of each value."""
        return (init_settings,)

    _check_is_no_boolean = field_validator("*", mode="before")(check_is_no_boolean)
    _check_broker = field_validator("broker")(check_broker)
    _check_topic_name = field_validator(*TOPIC_SETTINGS)(check_topic_name)
    _check_classes = field_validator("classes")(check_classes)
    _check_ngrams = field_validator("ngrams")(check_ngrams)
    _check_address = field_validator("http")(check_http)
    _check_hosts = field_validator("http_hosts")(check_hosts)
    _check_key = field_validator("hash_key")(check_key)
    _check_time = field_validator("start_from")(check_time)

    @field_validator("token_pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        if pattern != cls.model_fields["token_pattern"].default:
            from perceptron_core.text.patterns import compile_pattern  # noqa: PLC0415 - it brings River

            compile_pattern(pattern)
        return pattern

    @model_validator(mode="after")
    def _check_agreement(self) -> Settings:
        for check in AGREEMENTS:
            check(self)
        return self

    @property
    def correction_seconds(self) -> float:
        """Event time for which a label may correct what was learned by time-out."""
        return self.label_correction_seconds or self.label_timeout_seconds

    @property
    def broker_url(self) -> str:
        """The stream's URL: `broker`, or that of the SQLite file in the user's data directory."""
        return self.broker or f"sqlite:///{default_stream_path()}"

    @property
    def written_at_once(self) -> int:
        """Number of records that `produce` and `dead-letters replay` write at once."""
        return self.max_batch_records or 1000

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can reach the HTTP server."""
        return bool(self.http) and is_loopback(self.http)

    @property
    def takes_inputs(self) -> bool:
        """Whether events and labels may be posted: by this machine, or where others cannot be web pages."""
        return self.is_on_loopback or bool(self.http_hosts or self.http_token.get_secret_value())

    @property
    def shows_events(self) -> bool:
        """Whether the live page may show what events contain."""
        return self.http_show_events == "yes" or (self.http_show_events == "auto" and self.is_on_loopback)
