"""End an audit: turn records without a partner into findings, or into what cannot be verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from service.audit.counts import BECAME, SKIPPED
from service.audit.findings import Fault, Place, Report
from service.audit.letters import Letters
from service.audit.matching.ledger import Ledger
from service.audit.matching.outputs import Found
from service.audit.partition import Partition
from service.audit.reader import PredictionsReader

_MOST_LOOKED_FOR: Final = 1000


class Verdict:
    """Judges what is left over.

    Parameters
    ----------
    report
        Receives what is found.
    ledger, letters, partitions, predictions
        What was read.

    """

    def __init__(
        self,
        report: Report,
        ledger: Ledger,
        letters: Letters,
        partitions: Mapping[int, Partition],
        predictions: PredictionsReader,
    ) -> None:
        self._report = report
        self._findings = report.findings
        self._ledger = ledger
        self._letters = letters
        self._partitions = partitions
        self._predictions = predictions
        self._are_predictions_deleted = any(predictions.first.values())
        self._is_complete = all(partition.is_complete for partition in partitions.values())
        self._restarted = self._check_totals()
        self._whereabouts: Mapping[str, Sequence[Place]] = {}
        """The places of the events with the ids in `ids_in_question`."""
        self._older_ids: set[str] = set()
        """Of events that are deleted."""

    def conclude(self, whereabouts: Mapping[str, Sequence[Place]], *, are_letters_deleted: bool) -> None:
        """Add all that is left to say, given the events with the ids in `ids_in_question`."""
        self._whereabouts = whereabouts
        self._report_deletions()
        self._judge_unanswered()
        self._judge_unasked()
        self._judge_order()
        self._judge_shared()
        self._judge_letters(are_letters_deleted=are_letters_deleted)
        self._resolve_contradictions()
        self._resolve_doubts()
        self._judge_changes()
        for number, partition in self._partitions.items():
            partition.counts.check(self._findings, checks_labels=self._are_labels_known(number))
        self._fill_in()

    def ids_in_question(self) -> set[str]:
        """Return ids whose events should be searched for, to judge them or to report more about them."""
        uncertain = (
            found.kept for n, found in self._ledger.contradictions.items() if not self._is_certain(n)
        )
        judged = {each.event_id for found in uncertain for each in found if each.event_id is not None}
        judged = set(islice(judged, _MOST_LOOKED_FOR))
        ids = judged | {
            found.event_id for found in (*self._ledger.pairing.unasked(), *self._ledger.stray_outcomes())
        }
        ids |= {expected.event.event_id for expected, _ in self._ledger.pairing.suspects}
        return ids if len(ids) <= _MOST_LOOKED_FOR else judged

    def _is_certain(self, number: int) -> bool:
        """Return whether it is known for a partition which events were kept when."""
        partition = self._partitions[number]
        window = partition.window
        kept = not window.may_be_full and (self._ledger.order_is_known or window.is_never_short)
        return partition.is_complete and number not in self._restarted and kept

    def _check_totals(self) -> set[int]:
        """Compare the newest counts with the topics; return the partitions whose counts have restarted."""
        restarted = set()
        for number, partition in self._partitions.items():
            counts = partition.history.counts
            fewer, more = partition.has_restarted, False
            for name in BECAME if counts else ():
                fewer |= counts.get(name, 0) < partition.counts.total(name)
                more |= counts.get(name, 0) > partition.counts.total(name)
            if fewer:
                restarted.add(number)
            elif more and partition.is_complete:
                totals = {name: partition.counts.total(name) for name in BECAME}
                found = {name: counts.get(name, 0) for name in totals}
                message = f"the newest counts are {found}, the input makes {totals}"
                self._findings.add(Fault.WRONG, partition.log, message)
        return restarted

    def _report_deletions(self) -> None:
        for partition in self._partitions.values():
            for what in partition.not_verifiable():
                self._report.note(what)
            if partition.number in self._restarted:
                why = "(`checkpoint reset`, or `checkpoint import --no-restore`)"
                self._report.note(f"partition {partition.number}: its counts have restarted {why}")
        for q, first in self._predictions.first.items():
            if first:
                self._report.note(f"{Place(self._predictions.topic, q)}: records 0-{first - 1} are deleted")

    def _judge_unanswered(self) -> None:
        pairing, deleted = self._ledger.pairing, [q for q, first in self._predictions.first.items() if first]
        n_deleted = 0
        for expected in pairing.unanswered():
            place = expected.event.place
            if expected.event.is_ahead or place in self._letters:
                continue
            if pairing.lanes.lost_its_prediction(place, deleted):
                n_deleted += 1
            else:
                message = "no prediction of this event, and no dead letter"
                self._findings.add(Fault.MISSING, place, message, expected.event.event_id)
        if n_deleted:
            self._report.note(f"{n_deleted} events whose predictions are deleted")

    def _judge_unasked(self) -> None:
        incomplete = [number for number, each in self._partitions.items() if not each.is_complete]
        with_holes = [number for number, each in self._partitions.items() if each.has_holes]
        n_older = 0
        for found in self._ledger.pairing.unasked():
            if self._ledger.pairing.lanes.lost_its_event(found.place, incomplete, with_holes):
                n_older += 1
                self._older_ids.add(found.event_id)
            else:
                self._surplus(found, "prediction")
        for found in self._ledger.stray_outcomes():
            if all(map(self._is_certain, self._partitions)):
                self._surplus(found, "outcome")
            else:
                n_older += 1
        if n_older:
            self._report.note(f"{n_older} predictions and outcomes whose events are deleted")

    def _surplus(self, found: Found, what: str) -> None:
        events = self._whereabouts.get(found.event_id)
        if events:
            message = f"one more {what} of the event {events[0]}"
            self._findings.add(Fault.DOUBLED, found.place, message, found.event_id)
        else:
            message = f"a {what} of no event that the group has read"
            self._findings.add(Fault.FOREIGN, found.place, message, found.event_id)

    def _judge_order(self) -> None:
        for expected, found in self._ledger.pairing.suspects:
            if self._partitions[expected.event.place.partition].has_holes:
                continue  # the prediction may be of an event before it with the same id
            # An id in several partitions leaves open to which of them its prediction belongs.
            if len({seen.partition for seen in self._whereabouts.get(expected.event.event_id, ())}) <= 1:
                message = f"not in the order of the events around {expected.event.place}"
                self._findings.add(Fault.OUT_OF_ORDER, found.place, message, found.event_id)

    def _judge_shared(self) -> None:
        shared = self._ledger.shared
        for found in shared.contradictions(self._letters):
            if self._is_complete if found.fault is Fault.DOUBLED else not self._are_predictions_deleted:
                self._findings.extend([found])
        if shared.ids:
            such_as = f"{len(shared.ids)} event ids in several partitions, such as {min(shared.ids)!r}"
            self._report.note(f"{such_as}: their predictions are only counted")

    def _judge_letters(self, *, are_letters_deleted: bool) -> None:
        n_deleted = 0
        for partition in self._partitions.values():
            for place, reason in partition.without_letter.items():
                if place in self._letters:
                    continue
                if are_letters_deleted:
                    n_deleted += 1
                else:
                    message = f"no dead letter of this record, which is refused as {reason}"
                    self._findings.add(Fault.MISSING, place, message)
        if n_deleted:
            self._report.note(f"{n_deleted} dead letters that may be deleted")
        self._letters.count(self._findings, is_complete=self._is_complete)
        for place in self._letters.nameless:
            self._findings.add(Fault.FOREIGN, place, "it does not say which record it is of")
        for source, letter in self._letters.of_no_record():
            if self._is_there(source):
                message = f"it says that it is of {source}, which the group has not read"
                self._findings.add(Fault.FOREIGN, letter.place, message)

    def _is_there(self, source: Place) -> bool:
        """Return whether a record at this place is there to be judged, if the group has processed it."""
        partition = self._partitions.get(source.partition)
        if partition is None:
            return True
        if source.topic not in partition.first:
            return source.topic not in partition.topics_before
        return not partition.has_holes and (source.offset or 0) >= partition.first[source.topic]

    def _resolve_contradictions(self) -> None:
        """Judge what contradicts: an event that came once was not let go before it came again."""
        for number, found in sorted(self._ledger.contradictions.items()):
            if self._is_certain(number):
                self._findings.include(found)
                continue
            for each in found.kept:
                came_once = self._came_once(number, each.event_id)
                (self._findings if came_once else self._ledger.doubts[number]).extend([each])

    def _came_once(self, number: int, event_id: str | None) -> bool:
        """Return whether an event is the only one with its id that can have been kept at its time."""
        partition, seen = self._partitions[number], self._whereabouts.get(event_id or "", ())
        if len(seen) != 1 or event_id in self._older_ids or partition.has_holes:
            return False
        return partition.is_complete or not self._are_predictions_deleted

    def _resolve_doubts(self) -> None:
        for number, doubts in sorted(self._ledger.doubts.items()):
            if not doubts:
                continue
            if self._is_certain(number):
                self._findings.include(doubts)
                continue
            first = doubts.kept[0]
            labels = f"{len(doubts)} labels whose events may have been let go when they came"
            self._report.note(f"partition {number}: {labels}; the first: {first.place}: {first.message}")
        self._check_labelled()

    def _judge_changes(self) -> None:
        """Judge predictions in other partitions and with fewer fields than those before them."""
        changes = self._ledger.pairing.changes
        self._findings.extend(changes.astray())
        for number, partition in self._partitions.items():
            if number not in self._restarted and not partition.was_created_again:
                self._findings.extend(changes.lacking(number))
            if not self._ledger.order_is_known and self._are_labels_known(number):
                self._findings.extend(partition.spans.contradictions())

    def _are_labels_known(self, number: int) -> bool:
        """Return whether it is known for a partition which batch has compared which prediction."""
        all_is_there = not (self._ledger.shared.ids or self._are_predictions_deleted)
        repeats = 0 if self._ledger.order_is_known else self._ledger.pairing.repeats_with_truth
        return all_is_there and not repeats and self._is_certain(number)

    def _check_labelled(self) -> None:
        """Compare the counts of labels and of mistakes with the topics, all partitions together."""
        ledger, partitions = self._ledger, self._partitions.values()
        is_all_there = self._is_complete and not (self._restarted or self._are_predictions_deleted)
        if not is_all_there or ledger.shared.ids or self._findings:  # or this is reported already
            return
        most = 0 if ledger.order_is_known else ledger.pairing.repeats_with_truth
        for name, found in (("labelled", ledger.labelled), ("mistakes", ledger.mistakes)):
            counted = sum(partition.history.counts.get(name, 0) for partition in partitions)
            if not found <= counted <= found + most:
                message = f"the counts say {counted} {name}, predictions and outcomes say {found}"
                self._findings.add(Fault.WRONG, next(iter(partitions)).log._replace(partition=0), message)

    def _fill_in(self) -> None:
        report, ledger = self._report, self._ledger
        report.partitions = len(self._partitions)
        report.records = sum(partition.n_by_topic.total() for partition in self._partitions.values())
        report.dead_letters = sum(partition.n_letters for partition in self._partitions.values())
        report.skipped = sum(partition.counts.total(SKIPPED) for partition in self._partitions.values())
        report.predictions = ledger.pairing.n_paired + ledger.shared.n_paired
        report.outcomes = ledger.outcomes
        report.not_yet_judged = ledger.pairing.n_ahead
        report.unread = {place: n for each in self._partitions.values() for place, n in each.unread()}
