"""Apache Kafka through confluent-kafka (librdkafka). In: a cluster's address. Out: a `Transport`.

The rooms, from the caller to the wire:

- `transport`: topics, reading, producing, joining a group
- `consumer`: one member of a group, records in
- `membership`: which partitions are ours, and who is told
- `writer`: one partition's transactions, outputs and offsets out
- `producer`: records handed over in bulk, every step with a deadline
- `messages`: librdkafka's messages become records
- `cluster`: how every client is made
- `errors`: the one place where librdkafka's errors become ours
"""

from service.transport.kafka.confluent.transport import ConfluentTransport

__all__ = ["ConfluentTransport"]
