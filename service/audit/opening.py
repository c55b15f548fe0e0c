"""Open the partitions of an audit: read their checkpoint logs and make their decoders."""

from __future__ import annotations

from collections.abc import Mapping

from service.audit.committed.eras import eras_of
from service.audit.committed.history import CommitHistory
from service.audit.counts import BatchCounts
from service.audit.decoders import DatedDecoders
from service.audit.findings import Findings
from service.audit.inputs import PartitionInput
from service.audit.letters import Letters
from service.audit.matching.gaps import Gaps
from service.audit.matching.ledger import Ledger
from service.audit.matching.window import JoinWindow, Limits
from service.audit.partition import Partition
from service.audit.spans import BatchSpans
from service.settings.load import Settings
from service.stream import Transport


class PartitionOpener:
    """Opens the partitions of one audit.

    Parameters
    ----------
    transport, settings
        The stream, and what is not named in the logs.
    n_lanes
        How many partitions the predictions topic has.
    ledger, letters, findings
        What is due, what was refused, and what contradicts.

    """

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        n_lanes: int,
        *,
        ledger: Ledger,
        letters: Letters,
        findings: Findings,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._n_lanes = n_lanes
        self._ledger = ledger
        self._letters = letters
        self._findings = findings

    def open(self, number: int, history: CommitHistory, first: Mapping[str, int]) -> Partition:
        """Open a partition.

        Parameters
        ----------
        number, history
            Which, and its checkpoint log.
        first
            Where its input begins, by topic.

        """
        eras = eras_of(history, self._settings)
        gaps = Gaps(self._n_lanes)
        window = JoinWindow(limits_of(eras[0].settings), gaps, self._ledger.release)
        counts = BatchCounts(history, first, offsets_are_dense=self._transport.offsets_are_dense)
        judged = PartitionInput(
            DatedDecoders(eras, history.schemas),
            window,
            gaps,
            counts,
            ledger=self._ledger,
            letters=self._letters,
            findings=self._findings,
        )
        return Partition(
            number,
            self._settings.checkpoints_topic,
            history,
            eras,
            first,
            counts,
            BatchSpans(),
            window,
            judged,
            ahead=history.offsets,
            ends={topic: self._transport.bounds(topic, number)[1] for topic in first},
        )


def limits_of(settings: Settings) -> Limits:
    """Return how long events are kept for their labels."""
    return Limits(
        int(settings.label_timeout_seconds * 1000),
        settings.max_pending,
        settings.max_pending_bytes,
        settings.events.truth_on_timeout(settings.classes),
    )
