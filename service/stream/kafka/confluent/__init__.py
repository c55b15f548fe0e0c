"""Apache Kafka through confluent-kafka (librdkafka).

What this client does differently, from the caller to the wire:

- `cluster`: answers questions about topics, reads
- `questions`: creates clients, and asks brokers
- `consumer`: a member of a group, which returns records and follows rebalances
- `producer`: sends records in bulk, with a deadline for every step of a commit
- `messages`: turns librdkafka's messages into records
- `errors`: translates the exceptions of librdkafka, and is the only place that does
"""
