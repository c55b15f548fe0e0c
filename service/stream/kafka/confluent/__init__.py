"""Apache Kafka through confluent-kafka (librdkafka).

The code for this client, from the caller to the wire:

- `cluster`: describes topics, reads
- `admin_requests`: creates clients, and sends administrative requests
- `consumer`: a member of a group, which returns records and follows rebalances
- `producer`: sends records in bulk, with a deadline for every step of a commit
- `messages`: turns librdkafka's messages into records
- `errors`: the only place that translates the exceptions of librdkafka
"""
