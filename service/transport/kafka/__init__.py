"""Apache Kafka: what both clients share, and an adapter for each."""
