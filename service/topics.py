"""The topics of a service. In: settings. Out: their names, and that they exist."""

from __future__ import annotations

from service.errors import ConfigurationError
from service.settings import Settings
from service.transport.base import Transport


def input_topics(settings: Settings) -> tuple[str, ...]:
    """List the topics read, the leading one first."""
    return tuple(filter(None, (settings.events_topic, settings.labels_topic)))


def output_topics(settings: Settings) -> tuple[str, ...]:
    """List the topics written."""
    return (settings.predictions_topic, settings.dead_letters_topic, settings.checkpoints_topic)


def ensure_topics(transport: Transport, settings: Settings) -> int:
    """Create what is missing: all with as many partitions as the events have. Give that number.

    Raises as `Transport.ensure_topics` does.
    """
    leading, *others = input_topics(settings)
    create = settings.create_topics
    transport.ensure_topics({leading: settings.partitions}, create=create)
    partitions = transport.partition_count(leading)
    outputs = (settings.predictions_topic, settings.dead_letters_topic)
    transport.ensure_topics(dict.fromkeys((*others, *outputs), partitions), create=create)
    transport.ensure_topics({settings.checkpoints_topic: partitions}, create=create, keep_forever=True)
    _check_checkpoints(transport, settings, partitions)
    return partitions


def _check_checkpoints(transport: Transport, settings: Settings, partitions: int) -> None:
    """Refuse a checkpoints topic with too few partitions: each model has one of its own."""
    topic = settings.checkpoints_topic
    found = transport.partition_count(topic)
    if found < partitions:
        raise ConfigurationError(
            f"topic {topic!r} has {found} partitions, {settings.events_topic!r} has {partitions}: "
            "the checkpoints of each partition need one of their own",
            hint=f"add partitions to {topic!r} until it has {partitions}",
        )
