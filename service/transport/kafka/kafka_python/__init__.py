"""Apache Kafka through kafka-python. In: a cluster's address. Out: a `Transport`.

The rooms, from the caller to the wire:

- `transport`: topics, reading, producing, joining a group
- `consumer`: one member of a group, records in
- `membership`: which partitions are ours, and who is told
- `writer`: one partition's transactions, outputs and offsets out
- `producer`: kafka-python's producer with the deadlines that it lacks
- `cluster`: how every client is made
- `errors`: the one place where Kafka's errors become ours
"""

from service.transport.kafka.kafka_python.transport import KafkaPythonTransport

__all__ = ["KafkaPythonTransport"]
