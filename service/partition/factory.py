"""Makes streams and processors. In: settings. Out: a stream, and a processor ready for its first record."""

from __future__ import annotations

from service.messages.decoder import Decoder
from service.messages.features import FeatureExtractor, FeatureOptions, RawFeatures
from service.messages.labels import Vocabulary
from service.models.names import AUTO
from service.models.registry import make_learner
from service.partition.label_join import LabelJoin
from service.partition.learned_examples import Observer
from service.partition.processor import OutputTopics, Processor
from service.settings.load import Settings
from service.stream import Transport
from service.transport import open_transport


def open_stream(settings: Settings, url: str, *, create: bool = True) -> Transport:
    """Open the stream at `url` with the settings for its kind; without `create`, only if it is there.

    Raises
    ------
    ConfigurationError, TransportError
        The URL makes no sense; the stream cannot be opened.

    """
    kafka = settings.kafka
    if url.startswith("kafka:"):
        kafka.check_files()
    return open_transport(
        url,
        create=create,
        kafka_client=settings.kafka_client,
        embedded={"session_timeout_seconds": settings.session_timeout_seconds},
        kafka={
            "client_options": kafka.client_options(settings.kafka_client),
            "session_timeout_seconds": settings.session_timeout_seconds,
            "transaction_timeout_seconds": kafka.transaction_timeout_seconds,
            "commit_timeout_seconds": kafka.commit_timeout_seconds,
            "instance_id": kafka.instance_id or None,
        },
    )


def make_decoder(settings: Settings) -> Decoder:
    """Make the decoder that the settings describe."""
    return Decoder(Vocabulary(settings.classes), settings.max_message_bytes)


def make_extractor(settings: Settings) -> FeatureExtractor | RawFeatures:
    """Make the feature extractor that the settings describe."""
    if settings.model == AUTO:
        return RawFeatures()
    return FeatureExtractor(
        FeatureOptions(
            text=settings.text,
            ngrams=settings.ngrams,
            token_pattern=settings.token_pattern,
            lowercase=settings.lowercase,
            text_values=settings.text_values,
            normalize=settings.normalize,
            hash_bits=settings.hash_bits,
        )
    )


def make_processor(
    settings: Settings,
    observe: Observer = lambda _: None,
    *,
    decoder: Decoder | None = None,
    extractor: FeatureExtractor | RawFeatures | None = None,
) -> Processor:
    """Make a processor with an untrained model.

    Parameters
    ----------
    settings
        Describe it.
    observe
        Called with the labelled predictions of each batch.
    decoder, extractor
        Given where several processors share them; else made as the settings describe them.

    Raises
    ------
    ConfigurationError
        If the model cannot be made.

    """
    return Processor(
        make_learner(
            settings.model,
            settings.model_params,
            settings.classes,
            settings.checkpoint_key.get_secret_value().encode(),
            settings.hash_bits,
        ),
        vocabulary=Vocabulary(settings.classes),
        decoder=decoder or make_decoder(settings),
        extractor=extractor or make_extractor(settings),
        max_ahead_seconds=settings.max_event_time_ahead_seconds,
        join=LabelJoin(settings.label_timeout_seconds, settings.max_pending, settings.max_pending_bytes),
        topics=OutputTopics(settings.predictions_topic, settings.dead_letters_topic),
        observe=observe,
    )
