"""Apache Kafka through kafka-python. In: a cluster's address. Out: a `Transport`.

What this client does differently, from the caller to the wire:

- `transport`: questions about topics, reading
- `consumer`: records in, through three clients
- `membership`: rebalances, on the client's own thread
- `producer`: kafka-python's producer with the deadlines that it lacks
- `record_writer`, `written_batch`: records as batches of its accumulator, in compiled code
- `messages`: asks a client for records
- `fetched_records`, `record_reader`: record batches as `RecordBatch`es, in compiled code
- `cluster`: how every client is made
- `connections`: its bytes, and why a connection failed
- `errors`: kafka-python's own errors, and the one place where its exceptions are translated
"""

from service.transport.kafka.kafka_python.transport import KafkaPythonTransport

__all__ = ["KafkaPythonTransport"]
