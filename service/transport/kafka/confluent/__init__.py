"""Apache Kafka through confluent-kafka (librdkafka). In: a cluster's address. Out: a `Transport`.

What this client does differently, from the caller to the wire:

- `transport`: questions about topics, reading
- `new_topics`: waiting for topics that were created
- `consumer`: records in
- `membership`: rebalances, on the thread that polls
- `producer`: records handed over in bulk, every step with a deadline
- `steps`: the steps of a commit, given up where librdkafka does not find the group's coordinator
- `connection_log`: librdkafka's lines, and whether a connection has failed
- `messages`: librdkafka's messages become records
- `fetch_queue`: the same without a Python object for each message, where it is compiled
- `output_sender`: outputs handed over without one
- `private`: what is not published of the client, and in which releases it is used
- `cluster`: how every client is made
- `errors`: librdkafka's own errors, and the one place where its exceptions are translated
"""

from service.transport.kafka.confluent.private import check, unsupported

check()
try:
    from service.transport.kafka.confluent.transport import ConfluentTransport
except ImportError as error:
    if (error.name or "").partition(".")[0] != "confluent_kafka":
        raise
    raise unsupported(str(error)) from error

__all__ = ["ConfluentTransport"]
