"""The guarantee, as one assertion: everything once, and the model bit for bit that of a quiet run.

The checks raise AssertionError; the service must have finished on the stream.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from perceptron_core.formats.packed import pack
from service.checkpoints.log import Progress, read_log
from service.loop.restore import restore
from service.partition.factory import make_processor
from service.partition.processor import Processor
from service.settings.topics import input_partitions
from service.stream.partitioner import partition_for_key
from service.stream.protocol import Output, Record
from tests.support.chaos_log import Demand, demand_of
from tests.support.chaos_stream import ChaosStream


def assert_exactly_once(stream: ChaosStream) -> Counter[str]:
    """Compare what is committed with the log; return how much of each kind there was."""
    total: Counter[str] = Counter()
    partitions = range(stream.settings.partitions)
    tasks = [partitions] if stream.settings.share_model else [[each] for each in partitions]
    for number, owned in enumerate(tasks):
        total += _assert_task(stream, number, owned)
    _assert_verify_agrees(stream, total)
    return total


def _assert_task(stream: ChaosStream, number: int, partitions: Sequence[int]) -> Counter[str]:
    """Compare what one task has committed with the log of its partitions."""
    inputs = [stream.records(*place) for place in input_partitions(stream.settings, partitions)]
    topics = stream.settings.predictions_topic, stream.settings.dead_letters_topic
    predictions, dead_letters = (
        [record for each in partitions for record in stream.records(topic, each)] for topic in topics
    )
    timeout_ms = _on_timeout_ms(stream)
    records = (record for records in inputs for record in records)
    demand = demand_of(records, timeout_ms, filtered=bool(stream.settings.events.where))
    has_order = len(inputs) == 1
    _assert_all_once(demand, predictions, dead_letters, has_order=has_order, times_out=timeout_ms < inf)
    quiet, outputs = _replay(stream, number, inputs)
    for topic in topics:
        for each in partitions:
            expected = [o for o in outputs if o.topic == topic and _partition_of(o, stream) == each]
            _assert_same_outputs(stream.records(topic, each), expected)
    _assert_same_model(restore(stream.transport, stream.settings, number).processor, quiet)
    return Counter(
        records=sum(map(len, inputs)),
        predictions=demand.predictions.total(),
        dead_letters=len(dead_letters),
        outcomes=len(predictions) - demand.predictions.total(),
        mistakes=quiet.counters.mistakes,
        skipped=sum(quiet.counters.skipped.values()),
        **{f"labels_{what}": number for what, number in quiet.counters.labels.items()},
    )


def _partition_of(output: Output, stream: ChaosStream) -> int:
    """Return where an output goes."""
    if output.partition is not None:
        return output.partition
    return partition_for_key(output.key, stream.settings.partitions)


def _on_timeout_ms(stream: ChaosStream) -> float:
    settings = stream.settings
    return 1000 * settings.label_timeout_seconds if settings.events.label_on_timeout else inf


def _assert_verify_agrees(stream: ChaosStream, total: Counter[str]) -> None:
    """Ask `perceptron verify` as well, which knows nothing of all this."""
    proof = stream.verify()
    assert proof["proved"], proof["findings"]
    assert not proof["not_verifiable"]
    for name in ("records", "predictions", "outcomes", "dead_letters"):
        assert proof[name] == total[name]


def _assert_all_once(
    demand: Demand,
    predictions: Sequence[Record],
    dead_letters: Sequence[Record],
    *,
    has_order: bool,
    times_out: bool,
) -> None:
    """Count, knowing nothing of the service but the form of its messages."""
    messages = [json.loads(prediction.value or b"") for prediction in predictions]
    assert Counter(m["id"] for m in messages if "score" in m) == demand.predictions
    outcomes = Counter(m["id"] for m in messages if "predicted" in m)
    assert set(outcomes.values()) <= {1}
    if has_order:
        assert set(outcomes) == demand.outcomes
        assert [letter.value for letter in dead_letters] == demand.dead_letters
    else:
        known = {m["id"] for m in messages if "truth" in m}
        told = outcomes.keys() | known  # without an order, which label comes in time is not known here
        assert told <= demand.predictions.keys() if times_out else told == demand.labelled
        assert Counter(letter.value for letter in dead_letters) == Counter(demand.dead_letters)


def _replay(
    stream: ChaosStream, partition: int, inputs: Sequence[Sequence[Record]]
) -> tuple[Processor, Sequence[Output]]:
    """Process the log once more, in one undisturbed process that commits nothing."""
    processor = make_processor(stream.settings)
    order = inputs[0] if len(inputs) == 1 else _recorded_order(stream, partition, inputs)
    return processor, [output for record in order for output in processor.process_batch([record]).outputs]


def _progress(stream: ChaosStream, partition: int) -> Sequence[Progress]:
    checkpoints = stream.records(stream.settings.checkpoints_topic, partition)
    return read_log(checkpoints, stream.settings.group).progress


def _recorded_order(stream: ChaosStream, number: int, inputs: Sequence[Sequence[Record]]) -> Iterator[Record]:
    """Yield the records in the order that the progress records tell; none of these may be missing."""
    batches = _progress(stream, number)
    assert [batch.sequence for batch in batches] == list(range(1, len(batches) + 1))
    done = [0] * len(inputs)
    for batch in batches:
        while here := [
            (records[at].timestamp_ms, n)
            for n, (records, at) in enumerate(zip(inputs, done, strict=True))
            if at < len(records) and records[at].offset < batch.offsets.get(records[at][:2], 0)
        ]:
            _, earliest = min(here)
            yield inputs[earliest][done[earliest]]
            done[earliest] += 1
    assert done == [len(records) for records in inputs], "the service has not taken everything"


def _assert_same_outputs(found: Sequence[Record], expected: Sequence[Output]) -> None:
    for place, (one, other) in enumerate(zip(found, expected, strict=False)):
        assert (one.key, one.value, one.headers) == (other.key, other.value, other.headers), (
            f"at place {place}"
        )
    assert len(found) == len(expected)


def _assert_same_model(found: Processor, quiet: Processor) -> None:
    assert _bits(found) == _bits(quiet)
    assert found.counters == quiet.counters
    assert found.learner.dump() == quiet.learner.dump()
    assert pack(found.state()) == pack(quiet.state())


def _bits(processor: Processor) -> dict[str, bytes]:
    """Return every weight, and the bias, as the eight bytes that it is; nothing of a mixture."""
    learned = processor.learner.weights()
    if learned is None:
        return {}
    weights, bias = learned
    return {name: struct.pack("<d", value) for name, value in {**weights, "(bias)": bias}.items()}
