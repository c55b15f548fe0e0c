"""Apache Kafka through kafka-python.

What this client does differently, from the caller to the wire:

- `cluster`: creates clients, answers questions about topics, reads
- `consumer`: a member of a group, which returns records, through three clients
- `producer`: kafka-python's producer, whose commits are certain
- `private`: what the client does not publish and records would be lost without
- `errors`: translates the exceptions of kafka-python, and is the only place that does
"""

from service.stream.kafka.kafka_python.private import RELEASE

try:
    from service.stream.kafka.kafka_python.cluster import KafkaPythonCluster
except ImportError as error:
    if (error.name or "").partition(".")[0] != "kafka":
        raise
    raise RELEASE.unsupported(str(error)) from error

__all__ = ["KafkaPythonCluster"]
