"""Apache Kafka through kafka-python.

What this client does differently, from the caller to the wire:

- `transport`: answers questions about topics, reads
- `consumer`: returns records, through three clients
- `membership`: handles rebalances, on the client's own thread
- `producer`: kafka-python's producer with the deadlines that it lacks
- `record_writer`, `written_batch`: write records as batches of the client's accumulator, in compiled code
- `sent_records`: sends records one by one, where that is not possible
- `messages`: polls the client's consumer
- `reading/`: turns fetched record batches into `RecordBatch`es, in compiled code
- `cluster`: creates clients
- `connections`: receives bytes, and finds out why a connection failed
- `private`: names the unpublished parts of the client, and checks that the installed release has them
- `trial`: checks that records written by compiled code are read again
- `errors`: translates the exceptions of kafka-python, and is the only place that does
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
