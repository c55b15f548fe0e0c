"""Apache Kafka. The code that both clients share is here; each client has a folder.

- `transport`: creates topics, reads, produces, joins a group
- `member`: one member of a group, which returns records, calls the assignee (`service.loop.tasks`) at a
  rebalance and waits for the former owners of its partitions
- `transactions`: commits the outputs and offsets of a member's writers
- `cluster`: the interface of a client, which each client's folder implements
- `limits`: names, times and sizes that both clients share
- `errors`: the `ServiceError` of each error of the protocol
"""
