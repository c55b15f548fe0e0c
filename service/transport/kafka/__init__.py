"""Apache Kafka. What both clients do alike is here, and what only one of them does in its folder.

From the caller to the wire:

- `transport`: reading, producing, joining a group
- `topics`: topics that exist, and keep their records
- `member`: one member of a group, records in
- `membership`: rebalances: the partitions that this member owns; calls the assignee (`service.loop.tasks`).
  A `membership` in each client's folder listens to that client
- `writer`: one partition's transactions, outputs and offsets out
- `limits`: names, times and sizes that are the same for both clients
- `published`: whether only what a client publishes is used
- `errors`: what the protocol's errors mean to the service
"""
