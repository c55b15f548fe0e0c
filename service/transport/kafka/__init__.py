"""Apache Kafka. What both clients do alike is here, and what only one of them does in its folder.

From the caller to the wire:

- `transport`: reads, produces, joins a group
- `topics`: creates topics and checks how long they keep their records
- `member`: one member of a group, which returns records
- `membership`: the partitions that this member owns; calls the assignee (`service.loop.tasks`) at a
  rebalance. A `membership` in each client's folder listens to that client
- `writer`: transactions of one partition: outputs and offsets
- `limits`: names, times and sizes that are the same for both clients
- `release`: refuses a release of a client that is too old
- `errors`: the `ServiceError` of each error of the protocol
"""
