"""Apache Kafka through confluent-kafka (librdkafka).

What this client does differently, from the caller to the wire:

- `cluster`: answers questions about topics, reads
- `questions`: creates clients, and asks brokers
- `consumer`: a member of a group, which returns records and follows rebalances
- `producer`: sends records in bulk, with a deadline for every step of a commit
- `messages`: turns librdkafka's messages into records
- `errors`: translates the exceptions of librdkafka, and is the only place that does
"""

from typing import Final

import confluent_kafka

from service.stream.kafka.cluster import Release

RELEASE: Final = Release(
    name="confluent-kafka",
    package=confluent_kafka,
    tested="2.16.1",
    other="kafka-python",
)
try:
    from service.stream.kafka.confluent.cluster import ConfluentCluster
except ImportError as error:
    if (error.name or "").partition(".")[0] != "confluent_kafka":
        raise
    raise RELEASE.unsupported(str(error)) from error

__all__ = ["RELEASE", "ConfluentCluster"]
