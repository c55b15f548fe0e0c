"""Make streams, decoders, readers of inputs and processors from the settings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from service.errors import ConfigurationError
from service.formats.schema import Schemas
from service.formats.sources import Sources
from service.formats.topics import AS_JSON, KINDS, Reader, make_schemas, reader_of
from service.mapping.mapper import EventMapper, LabelMapper, Mapper, NativeMapper
from service.mapping.notation import Notation
from service.messages.decoder import Decoder
from service.messages.features import FeatureExtractor, FeatureOptions, RawFeatures
from service.messages.json_values import read_json
from service.messages.labels import UnreadLabels, Vocabulary
from service.models.registry import OWN_FEATURES, make_learner
from service.partition.examples import Observer
from service.partition.parts.kinds import make_parts
from service.partition.processor import Processor
from service.settings.load import Settings
from service.settings.mapping import OFFSET, is_of_record
from service.stream.opening import open_transport
from service.stream.protocol import Record, Transport


def open_stream(settings: Settings, url: str, *, create: bool = True) -> Transport:
    """Open the stream at `url` with the settings for its kind; without `create`, it must exist.

    Raises
    ------
    ConfigurationError, TransportError
        The URL is invalid; the stream cannot be opened.

    """
    kafka = settings.kafka
    if url.startswith("kafka:"):
        kafka.check_files()
    if create and not settings.broker:
        with suppress(OSError):  # opening the stream reports the missing directory
            Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    return open_transport(
        url,
        create=create,
        kafka_client=settings.kafka_client,
        kafka={
            "client_options": kafka.client_options(settings.kafka_client),
            "session_timeout_seconds": settings.session_timeout_seconds,
            "transaction_timeout_seconds": kafka.transaction_timeout_seconds,
            "commit_timeout_seconds": kafka.commit_timeout_seconds,
            "instance_id": kafka.instance_id or None,
        },
    )


def make_decoder(settings: Settings, schemas: Schemas | None = None, *, asks_only: bool = False) -> Decoder:
    """Make the decoder of input messages.

    Parameters
    ----------
    settings
        Decide the format, the fields and the labels.
    schemas
        The schemas of the records. Without them, messages are read as JSON even if the topic has schemas: for
        records from a file or from HTTP.
    asks_only
        Whether events are only predicted on request: their labels and times are not read.

    """
    vocabulary = UnreadLabels() if asks_only else Vocabulary(settings.classes)
    events: Mapper | None = None
    labels: Mapper | None = None
    if settings.events.is_mapped:
        read = reader_of(settings.events, schemas)
        events = _event_mapper(settings, vocabulary, read, asks_only=asks_only)
    if settings.labels.is_mapped:
        read = Notation.reading(settings.labels, reader_of(settings.labels, schemas))
        kind = NativeMapper if settings.labels.has_native_fields else LabelMapper
        labels = kind(settings.labels, vocabulary, read)
    return Decoder(vocabulary, settings.max_message_bytes, events, labels, settings.labels_topic)


def _event_mapper(settings: Settings, vocabulary: Vocabulary, read: Reader, *, asks_only: bool) -> Mapper:
    events = settings.events
    read = Notation.reading(events, read)
    if events.has_native_fields:
        return NativeMapper(events, vocabulary, read)
    return EventMapper(events, vocabulary, read, settings.max_message_bytes, asks_only=asks_only)


def make_question_decoder(settings: Settings) -> Decoder:
    """Make the decoder of posted events: JSON with the topic's fields; for text, the native schema."""
    vocabulary, most = Vocabulary(settings.classes), settings.max_message_bytes
    events = settings.events
    if not events.maps_fields and not (events.decimal or events.time_format):
        return Decoder(vocabulary, most)
    return Decoder(vocabulary, most, _event_mapper(settings, vocabulary, read_json, asks_only=True))


def for_file(settings: Settings) -> Settings:
    """Return the settings for a file: rows have no key or headers, so an id from there is the line number.

    If the topic's records have schemas, a file has the same fields in JSON.
    """
    changed = {"id": OFFSET} if is_of_record(settings.events.id) else {}
    changed |= AS_JSON if settings.events.format in KINDS else {}
    tables = {"events": settings.events.model_copy(update=changed)}
    labels = settings.labels.model_copy(update=AS_JSON if settings.labels.format in KINDS else {})
    return settings.model_copy(update={**tables, "labels": labels})


def reject_windows(settings: Settings) -> None:
    """Raise `ConfigurationError` if windows by key are configured: separate examples have no history."""
    if settings.events.windows:
        raise ConfigurationError(
            "events.windows: windows need a stream of earlier events",
            hint="process the file as a stream: `perceptron replay` or `compare`",
        )


def check_times(settings: Settings) -> None:
    """Raise `ConfigurationError` if windows by key are configured and a file's records have no event time."""
    if settings.events.windows and not settings.events.timestamp:
        raise ConfigurationError(
            "events.windows: expected event times in the file", hint="name their field with events.timestamp"
        )


def make_extractor(settings: Settings) -> FeatureExtractor | RawFeatures:
    """Make the feature extractor.

    Raises
    ------
    ConfigurationError
        Tenants are configured, and the model makes its own features.

    """
    if settings.model in OWN_FEATURES and settings.events.tenant:
        raise ConfigurationError(
            f"events.tenant: {settings.model} makes its own features, without tenants",
            hint="choose --model normalized-adagrad --hash-bits 22, or add the tenant to events.features",
        )
    if settings.model in OWN_FEATURES:
        return RawFeatures(takes_text=OWN_FEATURES[settings.model].takes_text)
    return FeatureExtractor(
        FeatureOptions(
            text=settings.text,
            ngrams=settings.ngrams,
            lowercase=settings.lowercase,
            text_values=settings.text_values,
            normalize=settings.normalize,
            hash_bits=settings.hash_bits,
            has_tenants=bool(settings.events.tenant),
            hash_key=settings.hash_key_bytes,
        )
    )


def make_processor(
    settings: Settings,
    observe: Observer = lambda _: None,
    *,
    decoder: Decoder | None = None,
    uses_fast_path: bool = True,
) -> Processor:
    """Make a processor with an untrained model.

    Parameters
    ----------
    settings
        Describe the processor.
    observe
        Called with the labelled predictions of each batch.
    decoder
        The decoder, if the caller needs its counts; else made from the settings.
    uses_fast_path
        As of `Processor`.

    Raises
    ------
    ConfigurationError
        If the model cannot be made.

    """
    schemas = make_schemas(settings) if decoder is None else None
    learner = make_learner(
        settings.model,
        settings.model_params,
        settings.classes,
        settings.checkpoint_key.get_secret_value().encode(),
        settings.hash_bits,
    )
    processor = Processor(
        settings,
        learner,
        decoder or make_decoder(settings, schemas),
        make_extractor(settings),
        make_parts(settings),
        uses_fast_path=uses_fast_path,
    )
    processor.schemas, processor.observe = schemas, observe
    return processor


class InputReader:
    """Has a decoder, and finds the schemas that it needs.

    Parameters
    ----------
    settings
        How records are written.

    Raises
    ------
    ConfigurationError
        A schema file cannot be used, or a package is missing.

    """

    def __init__(self, settings: Settings) -> None:
        self._schemas = make_schemas(settings)
        self._sources = Sources(settings) if self._schemas is not None else None
        self.decoder = make_decoder(settings, self._schemas)

    def prepare(self, records: Sequence[Record]) -> None:
        """Fetch the schemas of records before they are decoded.

        Raises
        ------
        RegistryUnavailable
            The registry does not answer.

        """
        if self._sources is not None and self._schemas is not None:
            self._schemas.add(self._sources.find(self._schemas, records))
