"""Reading and writing through what kafka-python does not publish, for speed.

- `records`: reads and writes record batches, in compiled code
- `record_consumer`, `uncompressed`: fetched batches as `RecordBatch`es
- `producer`: `OutputBatch`es as batches of the client's accumulator
- `connections`: receives more bytes at once

`RELEASE.accelerated` imports this folder if it is there.
"""

from __future__ import annotations

from typing import Final

from kafka.producer.record_accumulator import RecordAccumulator
from kafka.record.memory_records import MemoryRecords
from kafka.structs import TopicPartition

from service.records import Output, Record
from service.transport.kafka.kafka_python.accelerated.connections import BulkConnections as Connections
from service.transport.kafka.kafka_python.accelerated.producer import BatchProducer as Producer
from service.transport.kafka.kafka_python.accelerated.producer import hand_over
from service.transport.kafka.kafka_python.accelerated.record_consumer import BatchConsumer as RecordConsumer
from service.transport.kafka.kafka_python.accelerated.record_consumer import FetchedRecords, joined
from service.transport.kafka.kafka_python.accelerated.records import (  # type: ignore[import-not-found] # compiled
    written_batches,
)
from service.transport.kafka.kafka_python.private import first_lack

__all__ = ["USED", "Connections", "Producer", "RecordConsumer", "reason_against"]

USED: Final = {
    "kafka.consumer.group:KafkaConsumer": "_subscription",
    "kafka.consumer.subscription_state:SubscriptionState": "assignment",
    "kafka.consumer.subscription_state:TopicPartitionState": "position",
    "kafka.consumer.fetcher:Fetcher": "_completed_fetches _next_partition_records _paused_partition_records",
    "kafka.consumer.fetcher:Fetcher.PartitionRecords": "_maybe_raise_next_inline_exception"
    " _next_inline_exception fetch_offset next_fetch_offset record_iterator topic_partition",
    "kafka.record.default_records:DefaultRecordBatch": "CODEC_GZIP CODEC_LZ4 CODEC_ZSTD LOG_APPEND_TIME"
    " _buffer _decompressed _next_record_index _pos base_offset compression_type first_timestamp magic"
    " is_control_batch max_timestamp records_count size_in_bytes timestamp_type",
    "kafka:codec": "lz4 zstd",
    "kafka.producer.kafka:KafkaProducer": "_accumulator",
    "kafka.producer.transaction_manager:TransactionManager": "is_transactional"
    " maybe_add_partition_to_transaction",
    "kafka.producer.record_accumulator:RecordAccumulator": "_appends_in_progress _batches _closed _incomplete"
    " _tp_lock config",
    "kafka.producer.producer_batch:ProducerBatch": "_record_futures produce_future record_count",
    "kafka.producer.future:FutureRecordMetadata": "get",
    "kafka.record.memory_records:MemoryRecords": "next_batch",
    "kafka.record.memory_records:MemoryRecordsBuilder": "_builder _next_offset",
    "kafka.record.default_records:DefaultRecordBatchBuilder": "_buffer _first_timestamp _last_offset"
    " _max_timestamp _num_records",
    "kafka.net.manager:KafkaConnectionManager": "_build_transport",
    "kafka.net.transport:KafkaTCPTransport": "_sock _sock_recv",
}
"""What is used here and not published, beside what `private.NEEDED` names."""
_PLACE: Final = TopicPartition("trial", 0)
_TIME_MS: Final = 1
_BATCH_BYTES: Final = 1024


def reason_against() -> str | None:
    """Return why the installed release does not fit; None if it does."""
    lack = first_lack(USED)
    return f"{lack} is gone" if lack else _trial_failure()


def _trial_failure() -> str | None:
    """Return why records that are written are not read as they were; None if they are."""
    written = [Output("trial", b"key", b"%d" % n, (("name", b"header"),), 0, _TIME_MS) for n in range(3)]
    try:
        read = _read_again(written)
    except Exception as error:  # noqa: BLE001 - whatever a changed class raises
        return f"a trial of its batches fails: {error!r}"
    expected = [
        Record("trial", 0, n, _TIME_MS, each.key, each.value, each.headers) for n, each in enumerate(written)
    ]
    return None if read == expected else "a trial of its batches gives other records"


def _read_again(written: list[Output]) -> list[Record]:
    ((_, writer),) = written_batches(
        written, lambda _: 1, batch_bytes=_BATCH_BYTES, most_bytes=_BATCH_BYTES, now_ms=_TIME_MS
    )
    batch = hand_over(RecordAccumulator(batch_size=_BATCH_BYTES), _PLACE, writer)
    batch.records.close()
    return [*joined([*FetchedRecords(0, _PLACE, MemoryRecords(batch.records.buffer())).take()])]
