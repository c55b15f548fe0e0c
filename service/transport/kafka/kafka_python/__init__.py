"""Apache Kafka through kafka-python. In: a cluster's address. Out: a `Transport`.

What this client does differently, from the caller to the wire:

- `transport`: questions about topics, reading
- `consumer`: records in, through three clients
- `membership`: rebalances, on the client's own thread
- `producer`: kafka-python's producer with the deadlines that it lacks
- `record_writer`, `written_batch`: records as batches of its accumulator, in compiled code
- `sent_records`: records sent one by one, where that is not possible
- `messages`: its consumer, asked for records
- `reading/`: fetched record batches as `RecordBatch`es, in compiled code
- `cluster`: how every client is made
- `connections`: its bytes, and why a connection failed
- `private`: what it does not publish, and whether the installed release has it
- `trial`: whether a record that is written in compiled code is read again
- `errors`: kafka-python's own errors, and the one place where its exceptions are translated
"""

from service.transport.kafka.kafka_python.private import check, unsupported

check()
try:
    from service.transport.kafka.kafka_python.transport import KafkaPythonTransport
except ImportError as error:
    if (error.name or "").partition(".")[0] != "kafka":
        raise
    raise unsupported(str(error)) from error

__all__ = ["KafkaPythonTransport"]
