"""Apache Kafka through confluent-kafka (librdkafka).

What this client does differently, from the caller to the wire:

- `transport`: answers questions about topics, reads
- `new_topics`: waits for topics that were created
- `consumer`: returns records
- `membership`: handles rebalances, on the thread that polls
- `producer`: sends records in bulk, with a deadline for every step
- `steps`: runs the steps of a commit, and gives up where librdkafka does not find the group's coordinator
- `connection_log`: forwards librdkafka's log lines and notes failed connections
- `messages`: turns librdkafka's messages into records
- `fetch_queue`: does the same without a Python object for each message, where it is compiled
- `output_sender`: sends outputs without a Python object for each, where it is compiled
- `private`: names the unpublished parts of the client, and the releases in which they are used
- `cluster`: creates clients
- `errors`: translates the exceptions of librdkafka, and is the only place that does
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
