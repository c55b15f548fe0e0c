"""The unpublished names of kafka-python that are used, and which of them the installed release has.

Everything here may change with any release. Without the names in `NEEDED`, records would be lost, doubled or
never delivered: a release that lacks one is refused. Each of `READING`, `WRITING`, `RECEIVING`, `ASKING` and
`CLOSING` is left out where a name is missing, and the published interface of kafka-python is used instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Final, NamedTuple

import kafka

from service.errors import ConfigurationError
from service.transport.kafka.published import published_only, report_published_way

OLDEST: Final = "3.0.12"
TESTED: Final = ("3.0.12",)


class Use(NamedTuple):
    """A class of kafka-python, and attributes of it or of its instances."""

    module: str
    owner: str
    names: str = ""


class Part(NamedTuple):
    """What uses serve."""

    what: str
    uses: tuple[Use, ...]


NEEDED: Final = (
    Part(
        "knowing which connections broke",
        (
            Use(
                "kafka.net.compat",
                "KafkaNetClient",
                "await_ready close cluster connected in_flight_request_count poll",
            ),
            Use("kafka.net.manager", "KafkaConnectionManager", "cluster get_connection"),
            Use("kafka.net.connection", "KafkaConnection", "close_future init_future"),
            Use("kafka.net.selector", "NetworkSelector", "close run sleep"),
        ),
    ),
    Part(
        "ending each commit with certainty",
        (
            Use(
                "kafka.producer.kafka",
                "KafkaProducer",
                "_closed _sender _transaction_manager _unregister_cleanup config",
            ),
            Use("kafka.producer.sender", "Sender", "force_close wakeup"),
            Use(
                "kafka.producer.transaction_manager",
                "TransactionManager",
                "begin_commit last_error producer_id_and_epoch send_offsets_to_transaction",
            ),
            Use("kafka.producer.transaction_manager", "TransactionalRequestResult", "wait"),
        ),
    ),
    Part(
        "following the group",
        (
            Use("kafka.consumer.group", "KafkaConsumer", "_coordinator group_metadata"),
            Use("kafka.coordinator.assignors.cooperative_sticky", "CooperativeStickyAssignor"),
            Use(
                "kafka.coordinator.consumer",
                "ConsumerCoordinator",
                "_generation _join_task _on_join_prepare_async _send_heartbeat_request rejoin_needed"
                " reset_generation",
            ),
            Use("kafka.future", "Future", "add_callback add_errback failed"),
            Use("kafka.structs", "MemberState", "STABLE"),
        ),
    ),
    Part(
        "delivering records of partitions that were paused",
        (
            Use("kafka.consumer.group", "KafkaConsumer", "_fetcher"),
            Use(
                "kafka.consumer.fetcher",
                "Fetcher",
                "_next_partition_records _paused_partition_records",
            ),
        ),
    ),
)

READING: Final = Part(
    "reading records",
    (
        Use(
            "kafka.consumer.fetcher",
            "Fetcher.PartitionRecords",
            "_consume_aborted_transactions_up_to _contains_abort_marker _is_batch_aborted"
            " _maybe_raise_next_inline_exception _next_inline_exception aborted_producer_ids bytes_read"
            " check_crcs drain fetch_offset isolation_level leader_epoch next_fetch_offset record_iterator"
            " topic_partition",
        ),
        Use(
            "kafka.record.default_records",
            "DefaultRecordBatch",
            "CODEC_GZIP CODEC_LZ4 CODEC_ZSTD LOG_APPEND_TIME _buffer _decompressed _next_record_index _pos"
            " base_offset compression_type first_timestamp has_producer_id is_control_batch last_offset"
            " leader_epoch magic max_timestamp next_offset producer_id"
            " records_count size_in_bytes timestamp_type validate_crc",
        ),
        Use("kafka.protocol.consumer", "IsolationLevel", "READ_COMMITTED"),
        Use("kafka", "codec", "lz4 zstd"),
    ),
)
WRITING: Final = Part(
    "writing records",
    (
        Use("kafka.producer.kafka", "KafkaProducer", "_accumulator"),
        Use(
            "kafka.producer.transaction_manager",
            "TransactionManager",
            "is_transactional maybe_add_partition_to_transaction",
        ),
        Use(
            "kafka.producer.record_accumulator",
            "RecordAccumulator",
            "_appends_in_progress _batches _closed _incomplete _tp_lock config",
        ),
        Use("kafka.producer.producer_batch", "ProducerBatch", "_record_futures produce_future record_count"),
        Use("kafka.producer.future", "FutureRecordMetadata", "get"),
        Use("kafka.record.memory_records", "MemoryRecordsBuilder", "_builder _next_offset"),
        Use(
            "kafka.record.default_records",
            "DefaultRecordBatchBuilder",
            "_buffer _first_timestamp _last_offset _max_timestamp _num_records",
        ),
    ),
)
RECEIVING: Final = Part(
    "receiving bytes",
    (
        Use("kafka.net.manager", "KafkaConnectionManager", "_build_transport"),
        Use("kafka.net.transport", "KafkaTCPTransport", "_sock _sock_recv"),
    ),
)
ASKING: Final = Part(
    "looking for fetched records", (Use("kafka.consumer.fetcher", "Fetcher", "_completed_fetches"),)
)
CLOSING: Final = Part(
    "closing sockets", (Use("kafka.net.selector", "NetworkSelector", "_closed _selector drain stop"),)
)
OPTIONAL: Final = (READING, WRITING, RECEIVING, ASKING, CLOSING)


def check() -> None:
    """Refuse a release that lacks what the service cannot do without.

    Raises
    ------
    ConfigurationError
        With the name that is missing, and the releases that have it.

    """
    if _numbers(kafka.__version__) < _numbers(OLDEST):
        raise unsupported(f"it is older than {OLDEST}")
    for part in NEEDED:
        lack = first_lack(part.uses)
        if lack is not None:
            raise unsupported(f"{lack} is gone, which the service needs for {part.what}")


def unsupported(reason: str) -> ConfigurationError:
    """Make the error for a release that cannot be used."""
    return ConfigurationError(
        f"kafka-python {kafka.__version__} cannot be used: {reason}",
        hint=f"install a release that was tested ({', '.join(TESTED)}): "
        f"pip install 'kafka-python[crc32c]=={TESTED[-1]}'; or use --kafka-client confluent",
    )


def may_use(part: Part) -> bool:
    """Return whether a part that serves speed alone may be used."""
    reason = "PERCEPTRON_PUBLISHED_ONLY is set" if published_only() else _reason_against(part)
    if reason is None:
        return True
    report_published_way(f"kafka-python {kafka.__version__}", part.what, reason)
    return False


@cache
def _reason_against(part: Part) -> str | None:
    lack = first_lack(part.uses)
    if lack is not None:
        return f"{lack} is gone"
    if part not in {READING, WRITING}:
        return None
    from service.transport.kafka.kafka_python.trial import trial_failure  # noqa: PLC0415 - needs these names

    return trial_failure()


def first_lack(uses: Iterable[Use]) -> str | None:
    """Return the first name that the installed release does not have; None if it has all."""
    for module, owner, names in uses:
        try:
            found = attrgetter(owner)(import_module(module))
        except (ImportError, AttributeError):
            return f"{module}.{owner}"
        for name in names.split():
            if not _has(found, name):
                return f"{module}.{owner}.{name}"
    return None


def _has(owner: type, name: str) -> bool:
    """Return whether a class has an attribute, or code of it uses one of its instances by this name."""
    return hasattr(owner, name) or any(
        name in code.co_names
        for kind in getattr(owner, "__mro__", ())
        for code in (getattr(each, "__code__", None) for each in vars(kind).values())
        if code is not None
    )


def _numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]
