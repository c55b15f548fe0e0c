"""Apache Kafka through confluent-kafka (librdkafka). In: a cluster's address. Out: a `Transport`.

What this client does differently, from the caller to the wire:

- `transport`: questions about topics, reading
- `new_topics`: waiting for topics that were created
- `consumer`: records in
- `membership`: rebalances, on the thread that polls
- `producer`: records handed over in bulk, every step with a deadline
- `coordinator`: steps that need the group's coordinator, given up where librdkafka does not find it
- `connection_log`: librdkafka's lines, and whether a connection has failed
- `messages`: librdkafka's messages become records
- `fetch_queue`: the same without a Python object for each message, where it is compiled
- `output_sender`: outputs handed over without one
- `librdkafka`: the functions that compiled code calls
- `cluster`: how every client is made
- `errors`: librdkafka's own errors, and the one place where its exceptions are translated
"""

from service.transport.kafka.confluent.transport import ConfluentTransport

__all__ = ["ConfluentTransport"]
