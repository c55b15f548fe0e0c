"""Apache Kafka through kafka-python.

The code for this client, from the caller to the wire:

- `cluster`: creates clients, describes topics, reads
- `consumer`: a member of a group, which returns records, through three clients
- `producer`: kafka-python's producer, with reliable commits
- `private`: the private names of the client without which records would be lost
- `errors`: the only place that translates the exceptions of kafka-python
"""
