"""Apache Kafka. What both clients do alike is here, and what only one of them does in its folder.

- `transport`: creates topics, reads, produces, joins a group
- `member`: one member of a group, which returns records, calls the assignee (`service.loop.tasks`) at a
  rebalance and waits for the former owners of what it is given
- `transactions`: commits what the writers of a member have begun
- `cluster`: what a client has to offer; each client's folder implements it
- `limits`: names, times and sizes that are the same for both clients
- `errors`: the `ServiceError` of each error of the protocol
"""
