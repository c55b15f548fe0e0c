"""The releases of confluent-kafka that can be used."""

from __future__ import annotations

from typing import Final

import confluent_kafka

from service.transport.kafka.release import Release

RELEASE: Final = Release(
    name="confluent-kafka",
    package=confluent_kafka,
    oldest="2.11",
    tested="2.16.1",
    other="kafka-python",
)
