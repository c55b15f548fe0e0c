"""Apache Kafka through confluent-kafka (librdkafka).

What this client does differently, from the caller to the wire:

- `cluster`: answers questions about topics, reads
- `questions`: creates clients, and asks brokers
- `consumer`: a member of a group, which returns records
- `membership`: handles rebalances, on the thread that polls
- `producer`: sends records in bulk, with a deadline for every step
- `steps`: runs the steps of a commit, and gives up where librdkafka does not find the group's coordinator
- `messages`: turns librdkafka's messages into records
- `release`: the releases that can be used
- `errors`: translates the exceptions of librdkafka, and is the only place that does
"""

from service.transport.kafka.confluent.release import RELEASE

RELEASE.check()
try:
    from service.transport.kafka.confluent.cluster import ConfluentCluster
except ImportError as error:
    if (error.name or "").partition(".")[0] != "confluent_kafka":
        raise
    raise RELEASE.unsupported(str(error)) from error

__all__ = ["ConfluentCluster"]
