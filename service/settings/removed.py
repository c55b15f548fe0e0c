"""Names that are not settings, options or commands, and what to use instead: the one table of both kinds.

In it are the options of Kafka's clients that the service decides itself, and what has been removed. Whoever
removes a setting, an option or a command adds its name here; every source of settings and the command line
refuse it with this line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_IN_TRANSACTIONS: Final = "predictions, model and positions are committed in one transaction"
_INSTEAD: Final[Mapping[str, str]] = {
    # options of Kafka's clients
    "acks": f"{_IN_TRANSACTIONS}, which Kafka has with acks=all only: it is always that",
    "auto_offset_reset": "a group without committed positions begins at the oldest record; on_data_loss says "
    "what happens when records are gone",
    "bootstrap_servers": "broker has the addresses: kafka://host:9092,host2:9092",
    "enable_auto_commit": f"{_IN_TRANSACTIONS}: positions are never committed apart",
    "enable_idempotence": f"{_IN_TRANSACTIONS}, which are idempotent: it is always on",
    "group_id": "group is the name of the consumer group",
    "group_instance_id": "kafka.instance_id is the name for static membership",
    "isolation_level": "only committed records are read: it is always read_committed",
    "max_poll_records": "max_batch_records is the most records of a batch",
    "session_timeout_ms": "session_timeout_seconds is the setting",
    "transaction_timeout_ms": "kafka.transaction_timeout_seconds is the setting",
    "transactional_id": "each process has one of its own, which begins with group and topic",
    # removed settings and options, in the form of an environment variable: kafka.a is a, events.a is events_a
    "bootstrap_labels": "write the label of each event into its row in a file of bootstrap",
    "mixes_topic": "share_model has one task learn all partitions, which needs no topic of its own",
    "token_pattern": r"words are what \w+ finds; events.hook may cut texts otherwise, into features",
    "max_rejected_ratio": "alert on perceptron_messages_rejected_total; once the producer is mended, "
    "`dead-letters replay` sends back what was rejected",
    "rejected_window": "perceptron_messages_rejected_total counts rejected messages",
    "log_interval_seconds": "a line a minute sums up what was done; /metrics has it at any time",
    "events_schema_file": "a Schema Registry has the schemas of Avro and Protobuf",
    "labels_schema_file": "a Schema Registry has the schemas of Avro and Protobuf",
    "events_message": "each record says which message of its schema it is",
    "labels_message": "each record says which message of its schema it is",
    "predictions_format": "predictions are JSON; `perceptron schema prediction` prints their schema",
    "workers": "start several processes of one group, as by `docker compose up --scale` or replicas",
    "no_create_topics": "--create-topics none creates no topic; by default, those that are written",
    "through": "mend the messages yourself: `perceptron consume dead-letters`, then `perceptron produce`",
    "from_offset": "`consume --from 17` begins at an offset",
    "no_restore": "`checkpoint reset --from committed`, then `checkpoint import`",
    "dry_run": "`dead-letters list` and `consume` show what there is",
    "reason": "`dead-letters list` counts by reason; `dead-letters replay` sends back what is accepted now",
    "show_values": "`dead-letters list --format json` has the messages",
    "key_field": "records are keyed by their id: `produce --events-id NAME` names the field",
    "sort": "the fewest mistakes come first; --format json has all figures",
    "patience": "--epochs is the most, and --holdout keeps the best of them",
    "start": 'training begins with weights of zero; in Python, perceptron_train(start="random")',
    "id_prefix": "rows without an id are row-1, row-2, …; a column id names them otherwise",
    "strict": "`verify --format json` lists what was not verifiable",
    "order": 'epochs are shuffled; in Python, perceptron_train(order="constant")',
    "follow": "`consume` continues with the records to come unless --exit-at-end is given",
    "axes": "--events-features names the two features",
    "top": "`inspect` shows the largest weights, all of them with --format json",
    "log_pattern": "make NDJSON of a log: `jq -R -c 'capture(\"(?<ms>[0-9]+) (?<path>.*)\")' FILE`",
    "encoding": "text is UTF-8: `iconv -f cp1252 -t utf-8 FILE` converts it",
    "quote": 'the cells of a CSV file are quoted by ", as in RFC 4180: convert the file',
    "header": "the first line of a CSV file names its columns",
    "no_header": "put a line with the names of the columns before a CSV file: x1,x2,label",
    "id_column": "name the column `id`, or map it: --events-id NAME --events-features '*'",
    "text_column": "name the column `text`, or map it: --events-text NAME --events-features '*'",
    "drift_every": "change the labels of the file before it is sent",
    # removed commands
    "mistakes": "`replay` prints the mistakes so far; `plot learning-curve` draws the error",
    "tune": "`compare --model arow,r=0.1 --model arow,r=1` compares parameters; `--model auto` needs none",
    "thresholds": "`replay --threshold precision=0.95` prints the threshold that reaches a goal",
    "weights": "`inspect` shows the largest weights, all of them with --format json",
    "completion": "`_PERCEPTRON_COMPLETE=bash_source perceptron` prints the script (or zsh_, fish_source)",
}
"""Names in lower case with `_`, without `perceptron_` and `kafka_`."""


def instead_of(name: str) -> str:
    """Return what to use in place of a setting, option or command; empty if the name is not in the table.

    >>> instead_of("kafka.group.id")
    'group is the name of the consumer group'
    >>> len({instead_of(name) for name in ("--kafka-acks", "PERCEPTRON_KAFKA__ACKS", "acks")})
    1
    >>> instead_of("kafka.aks")
    ''
    """
    plain = re.sub(r"[._-]+", "_", name.lower()).strip("_")
    return _INSTEAD.get(plain.removeprefix("perceptron_").removeprefix("kafka_"), "")
