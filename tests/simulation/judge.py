"""Compare a run with the oracle, and raise at the first difference.

It reads the committed transactions of each partition in their order, lets the oracle do what their progress
records tell, and compares what was written with what had to be.
"""

from __future__ import annotations

import heapq
import json

from perceptron_core import from_bytes
from service.errors import ServiceError
from service.loop.restore import restore
from service.stream.protocol import flat
from service.verify.verify import verify
from tests.simulation.oracle import Decisions, Delays, Partition, Windows
from tests.simulation.transport import SimulatedTransport
from tests.simulation.world import SimulationFailure

JUDGES_ORDER = True
_OUTPUTS = {"predictions", "dead-letters"}


def judge(world):
    """Raise `SimulationFailure` if anything committed is wrong or missing."""
    n_tasks = 1 if world.is_shared else world.broker.topics["events"]
    by_task = {number: [] for number in range(n_tasks)}
    for transaction in world.broker.transactions:
        by_task[transaction.partition].append(transaction)
    for number, transactions in by_task.items():
        _Trial(world, number).judge(transactions)
    is_damaged = world.counts["checkpoints emptied"] or world.counts["increments damaged"]
    if not (world.has_rejected or is_damaged):
        report = verify(SimulatedTransport(Onlooker(), world.broker), world.settings)
        if not report.is_proved:
            raise SimulationFailure(f"verify refutes it: {report.findings.kept[0]}")


class Onlooker:
    """Calls the stream without being a process: nothing happens to it."""

    def before(self, call):
        pass

    def breaks_off(self, n_records):
        return None


class _Trial:
    def __init__(self, world, partition):
        self._world = world
        self._partition = partition
        settings = world.settings
        topics = [topic for topic in (settings.events_topic, settings.labels_topic) if topic]
        partitions = range(world.broker.topics["events"]) if world.is_shared else [partition]
        self._partitions = [(t, n) for t in topics for n in partitions if (t, n) in world.broker.logs]
        self._oracle = Partition(
            settings.model,
            settings.classes,
            int(settings.label_timeout_seconds * 1000),
            settings.max_pending,
            int(settings.max_event_time_ahead_seconds * 1000),
            settings.events.label_on_timeout,
            Delays() if settings.events.unlabelled == "matched" else None,
            int((settings.label_correction_seconds or settings.label_timeout_seconds) * 1000),
            Windows(settings.events.windows[0]) if settings.events.windows else None,
            Decisions(settings.decisions) if settings.decisions else None,
        )
        self._offsets = dict.fromkeys(self._partitions, 0)
        self._sequence = 0
        self._is_lossy = False

    def judge(self, transactions):
        if transactions and self._world.losses.are_felt:
            self._offsets |= transactions[0].offsets  # a group begins at the first record there is
        for transaction in transactions:
            self._judge_transaction(transaction)
        if not self._world.has_rejected:
            self._judge_end()

    def _judge_transaction(self, transaction):
        outputs = [record for record in transaction.outputs if record.topic in _OUTPUTS]
        progress = [
            json.loads(record.value)
            for record in transaction.outputs
            if record.topic == "checkpoints" and dict(record.headers)["kind"] == b"progress"
        ]
        if not progress:
            self.expect(not outputs, "outputs without progress")
            if self._world.settings.on_data_loss == "continue" and self._world.losses.are_felt:
                self._go_on_without(transaction)
            self.expect(self._is_here(transaction.offsets), "a snapshot moves offsets")
            return
        self.expect(len(progress) == 1, "several progress records")
        (told,) = progress
        self.expect(
            told["sequence"] == self._sequence + 1, f"batch {told['sequence']} after {self._sequence}"
        )
        ends = flat(told["offsets"])
        both = {partition: at for partition, at in ends.items() if partition in transaction.offsets}
        self.expect(both == transaction.offsets, "offsets differ from the progress")
        others = {partition: at for partition, at in ends.items() if partition not in both}
        self.expect(self._is_here(others), "places move without their offsets")
        self._sequence += 1
        self._judge_batch(transaction, told)

    def _judge_batch(self, transaction, told):
        expected = self._process(told, transaction)
        found = [_plain(record) for record in transaction.outputs if record.topic in _OUTPUTS]
        if self._is_lossy:
            self.expect(_identities(found) == _identities(expected), "outputs are missing")
            return
        self.expect(found == expected, f"batch {self._sequence}: found {found}, expected {expected}")
        self._judge_counts(told["counts"])

    def _go_on_without(self, transaction):
        """From here on no one can know the model; but that each event is answered once still holds."""
        sequences = {int(dict(record.headers)["sequence"]) for record in transaction.outputs}
        if sequences == {self._sequence + 1}:
            self._is_lossy = True
            self._sequence += 1
            self._offsets |= transaction.offsets

    def _process(self, told, transaction):
        """Let the oracle do a batch."""
        batches, ends = [], self._offsets | flat(told["offsets"])
        for partition in self._partitions:
            self.expect(ends[partition] >= self._offsets[partition], f"{partition} goes back")
            log = self._world.broker.logs[partition]
            batches.append(log.between(self._offsets[partition], ends[partition]))
        self._offsets = ends
        expected = []
        merged = [*heapq.merge(*batches, key=_time)]
        if JUDGES_ORDER:
            self._judge_order(merged, ends, transaction)
        for record in merged:
            message = self._world.messages[record.topic, record.partition, record.offset]
            expected += [
                _expected(record, output)
                for output in self._oracle.take(
                    message, record.topic, record.timestamp_ms, told["processing_time_ms"]
                )
            ]
        return expected

    def _judge_order(self, merged, ends, transaction):
        """Let no record be taken while the other topic is known to hold an earlier one as its next."""
        for rank, partition in enumerate(self._partitions):
            known_end = transaction.known_ends.get(partition, 0)
            left = self._world.broker.logs[partition].between(ends[partition], known_end)
            if not left:
                continue
            head = (left[0].timestamp_ms, rank)
            for record in reversed(merged):
                if record[:2] == partition:
                    break
                self.expect(
                    (record.timestamp_ms, self._partitions.index(record[:2])) <= head,
                    f"batch {self._sequence} takes {_named(record)} before {_named(left[0])}, "
                    "although that is known to be there",
                )

    def _is_here(self, offsets):
        """Return whether these offsets are where it stands; a partition that is new may begin later."""
        logs = self._world.broker.logs
        return all(
            at == self._offsets[partition] or (not self._offsets[partition] and at <= logs[partition].start)
            for partition, at in offsets.items()
        )

    def _judge_counts(self, told):
        oracle = self._oracle
        expected = oracle.all_counts | {"updates": oracle.model.updates, "pending_labels": oracle.pending}
        found = {name: told.get(name) for name in expected}  # further parts may count more
        self.expect(found == expected, f"batch {self._sequence}: counts {found}, expected {expected}")

    def _judge_end(self):
        for partition in self._partitions:
            log = self._world.broker.logs[partition]
            left = log.between(self._offsets[partition], log.end)
            self.expect(not left, f"{len(left)} records of {partition} were never processed")
        try:
            restored = self._restore()
        except ServiceError as error:
            self.expect(self._world.may_reject(error), f"cannot be restored: {error}")
            return
        if restored.losses:  # no one has restored it since they were deleted
            self.expect(self._world.losses.are_felt, f"{restored.losses} come back")
            self._is_lossy = True
        self.expect(restored.sequence == self._sequence, f"batch {restored.sequence} comes back")
        logs = self._world.broker.logs
        expected = {each: max(offset, logs[each].start) for each, offset in self._offsets.items()}
        found = expected | restored.offsets if self._world.is_shared else restored.offsets
        self.expect(found == expected, f"offsets {restored.offsets} come back")
        if not self._is_lossy:
            self._judge_state(restored.processor.state())

    def _restore(self):
        world, partition = self._world, self._partition
        known = world.broker.group.committed
        committed = {partition: known.get(partition, 0) for partition in self._partitions}
        return restore(SimulatedTransport(Onlooker(), world.broker), world.settings, partition, committed)

    def _judge_model(self, state):
        oracle, model = self._oracle, from_bytes(state["model"])
        found = {"weights": model.weights, "bias": model.bias, "updates": model.n_updates}
        self.expect(found == oracle.model.state(), f"model {found}, expected {oracle.model.state()}")

    def _judge_state(self, state):
        oracle = self._oracle
        self._judge_model(state)
        counters, join = state["counters"], state["join"]
        for name, expected in (("labels", oracle.labels), ("consumed", oracle.consumed)):
            self.expect(counters[name] == expected, f"{name} {counters[name]}, expected {expected}")
        self.expect([each[0] for each in join["examples"]] == [*oracle.kept], "kept examples differ")
        self.expect([each[0] for each in join["early"]] == [*oracle.early], "early labels differ")
        self.expect([*join["expired"]] == [*oracle.expired], "expired ids differ")

    def expect(self, holds, what):
        if not holds:
            raise SimulationFailure(f"partition {self._partition}: {what}")


def _named(record):
    return f"{record.topic}[{record.partition}]@{record.offset} of {record.timestamp_ms} ms"


def _time(record):
    return record.timestamp_ms


def _plain(record):
    if record.topic == "dead-letters":
        headers = {name: value.decode() for name, value in record.headers}
        source = (headers["source.topic"], int(headers["source.partition"]), int(headers["source.offset"]))
        source += (int(headers["source.timestamp"]),)
        return (record.topic, record.key, record.value, headers["error.reason"], source)
    return (record.topic, record.key, json.loads(record.value))


def _expected(record, output):
    if "reason" in output:
        source = (record.topic, record.partition, record.offset, record.timestamp_ms)
        return ("dead-letters", record.key, record.value, output["reason"], source)
    return ("predictions", output["id"].encode(), output)


def _identities(outputs):
    """Return of outputs what does not depend on the model: not of outcomes, which do."""
    return [
        output[:3] if output[0] == "dead-letters" else output[2]["id"]
        for output in outputs
        if output[0] == "dead-letters" or "predicted" not in output[2]
    ]
