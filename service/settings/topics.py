"""The names of a service's topics, and their creation."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches

from service.errors import ConfigurationError, TopicMissing
from service.settings.load import Settings
from service.stream.protocol import ReadStream, TopicPartition, Transport

_log = logging.getLogger(__name__)


def input_topics(settings: Settings) -> tuple[str, ...]:
    """List the input topics, the leading one first."""
    return tuple(filter(None, (settings.events_topic, settings.labels_topic)))


def task_partitions(settings: Settings, stream: ReadStream, task: int) -> Sequence[int]:
    """List the partitions of a task: its own, or all of them with a shared model.

    After a topic has grown, only partitions that all topics have.
    """
    if not settings.share_model:
        return (task,)
    return range(min(stream.partition_count(topic) for topic in input_topics(settings)))


def n_tasks(settings: Settings, n_partitions: int) -> int:
    """Return how many tasks have the partitions: one each, or one for all with a shared model."""
    return 1 if settings.share_model else n_partitions


def owner_topic(settings: Settings) -> str:
    """Return the topic whose only partition decides who owns all partitions; empty if each has an owner."""
    return settings.checkpoints_topic if settings.share_model else ""


def input_partitions(settings: Settings, partitions: Iterable[int]) -> list[TopicPartition]:
    """List the topic partitions of these partitions, in the order for records of equal time."""
    numbers = [*partitions]
    return [(topic, partition) for topic in input_topics(settings) for partition in numbers]


def output_topics(settings: Settings) -> tuple[str, ...]:
    """List the output topics."""
    further = [settings.signals_topic] * settings.drift.is_on
    return (settings.predictions_topic, settings.dead_letters_topic, settings.checkpoints_topic, *further)


def ensure_topics(transport: Transport, settings: Settings) -> int:
    """Create missing topics, and add partitions to those with fewer than the events topic; return how many.

    Raises
    ------
    TopicMissing
        A topic is missing, and `create_topics` does not allow creating it.
    ConfigurationError
        A topic has fewer partitions, and `create_topics` is none.
    TransportError
        As `Transport.ensure_topics` and `Transport.add_partitions`.

    """
    leading, *further = input_topics(settings)
    create = settings.create_topics != "none"
    gone = _gone(transport, settings)
    _ensure_input(transport, settings, leading, settings.partitions)
    partitions = transport.partition_count(leading)
    if "partitions" in settings.model_fields_set and settings.partitions != partitions:
        wanted = settings.partitions
        _log.warning("partitions: %d has no effect: topic %r exists and has %d", wanted, leading, partitions)
    for topic in further:
        _ensure_input(transport, settings, topic, partitions)
    others = (*further, settings.predictions_topic, settings.dead_letters_topic)
    transport.ensure_topics(dict.fromkeys(others, partitions), create=create)
    kept = {topic: partitions for topic in output_topics(settings) if topic not in others}
    if settings.share_model:
        kept[settings.checkpoints_topic] = 1
    for topic, count in kept.items():
        transport.ensure_topics({topic: count}, create=create, keep_forever=True)
    for topic, count in (dict.fromkeys(others, partitions) | kept).items():
        _grow(transport, settings, topic, count)
    if settings.share_model:
        _check_one_partition(transport, settings)
    for topic in gone:
        _log.warning(
            "topic %r did not exist, although %r does: it starts empty, and its former records are lost",
            *(topic, settings.checkpoints_topic),
        )
    return partitions


def _ensure_input(transport: Transport, settings: Settings, topic: str, partitions: int) -> None:
    """Make sure that an input topic exists. Raises `TopicMissing`, with similar topic names."""
    try:
        transport.ensure_topics({topic: partitions}, create=settings.create_topics == "all")
    except TopicMissing as error:
        near = get_close_matches(topic, {*transport.topics()}.difference(output_topics(settings)), n=3)
        meant = f"did you mean {', '.join(near)}? " if near else ""
        if topic == settings.events_topic:
            why = "set events_topic"
        else:
            why = "set labels_topic (empty if labels come only with events)"
        raise TopicMissing(str(error), hint=f"{meant}{why}; or create it with --create-topics all") from None


def _check_one_partition(transport: Transport, settings: Settings) -> None:
    """Reject a checkpoints topic with several partitions: its only partition decides the owner of all."""
    topic = settings.checkpoints_topic
    if (n_partitions := transport.partition_count(topic)) > 1:
        raise ConfigurationError(
            f"topic {topic!r} has {n_partitions} partitions, but share_model needs one",
            hint="choose another --checkpoints-topic and --group",
        )


def _gone(transport: Transport, settings: Settings) -> list[str]:
    """Return the output topics that are missing although the checkpoints topic exists.

    The checkpoints topic is created last and checked first, as another process may be creating the topics
    now.
    """
    outputs = (settings.predictions_topic, settings.dead_letters_topic)
    counts = partition_counts(transport, (settings.checkpoints_topic, *outputs))
    return [topic for topic in outputs if topic not in counts and settings.checkpoints_topic in counts]


def count_of_output(transport: Transport, topic: str, hint: str) -> int:
    """Return the number of partitions of a topic that `serve` creates; raise `TopicMissing` with a hint."""
    try:
        return transport.partition_count(topic)
    except TopicMissing as error:
        raise TopicMissing(str(error), hint=f"`perceptron serve` creates it; {hint}") from None


def partition_counts(transport: ReadStream, topics: Iterable[str]) -> dict[str, int]:
    """Return the numbers of partitions of the existing topics, asked in this order."""
    counts = {}
    for topic in topics:
        with suppress(TopicMissing):
            counts[topic] = transport.partition_count(topic)
    return counts


def _grow(transport: Transport, settings: Settings, topic: str, partitions: int) -> None:
    """Add the partitions that a topic lacks. Raises `ConfigurationError` if that is not allowed.

    Warns of models in partitions that the events topic does not have.
    """
    count = transport.partition_count(topic)
    gone = range(partitions, count) if topic == settings.checkpoints_topic else ()
    if unused := [f"{topic}[{each}]" for each in gone if transport.bounds(topic, each)[1]]:
        events, names = settings.events_topic, ", ".join(unused)
        _log.warning("unused models, as %s lacks their partitions: %s", events, names)
    if count >= partitions:
        return
    if settings.create_topics != "none":
        transport.add_partitions({topic: partitions})
        _log.warning(
            "topic %r had %d partitions and has %d now, as the events have", topic, count, partitions
        )
    elif topic in {settings.labels_topic, settings.checkpoints_topic, settings.signals_topic}:
        raise ConfigurationError(
            f"topic {topic!r} has {count} partitions, expected {partitions} as in {settings.events_topic!r}",
            hint=f"add partitions to {topic!r} until it has {partitions}, or allow it with `create_topics`",
        )
