"""Reading and writing through librdkafka itself, for speed.

confluent-kafka makes a Python object of each message, which takes longer than most of the processing does.

- `consumer`, `producer`: the adapter's own, without these objects
- `librdkafka`: calls librdkafka, in compiled code
- `handles`: finds librdkafka's functions and the client's handle, which is not published

`RELEASE.accelerated` imports this folder if it is there.
"""

from service.transport.kafka.confluent.accelerated.consumer import QueueConsumer as Consumer
from service.transport.kafka.confluent.accelerated.handles import reason_against
from service.transport.kafka.confluent.accelerated.producer import BatchProducer as Producer

__all__ = ["Consumer", "Producer", "reason_against"]
