"""Apache Kafka through kafka-python.

What this client does differently, from the caller to the wire:

- `cluster`: creates clients, answers questions about topics, reads
- `consumer`: a member of a group, which returns records, through three clients
- `producer`: kafka-python's producer, whose commits are certain
- `private`: what the client does not publish and records would be lost without
- `errors`: translates the exceptions of kafka-python, and is the only place that does
"""
