"""The partitions of one member, as kafka-python's rebalance listener reports them."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kafka import AsyncConsumerRebalanceListener
from kafka.errors import (
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.future import Future
from kafka.structs import MemberState, TopicPartition

from service.stream import Assignee
from service.transport.kafka.membership import KafkaMembership

_LOOK_AGAIN_SECONDS: Final = 0.005
"""How often the client's loop checks whether the assignee, or a commit, has finished."""


class _PendingJoin:
    """The answer to a join, seemingly not there yet: kafka-python waits for it, and gets it at once."""

    is_done = False

    def __init__(self, answer: Any) -> None:  # noqa: ANN401 - kafka-python has no types
        self.add_callback = answer.add_callback
        self.add_errback = answer.add_errback


class KafkaPythonMembership(KafkaMembership, AsyncConsumerRebalanceListener):  # type: ignore[misc] # kafka-python has no types
    """Listens to the rebalances of one consumer and keeps the set of its partitions.

    kafka-python calls it on its I/O thread, while the polling thread waits inside `poll` or `close` for
    the rebalance to end: so there is one writer at a time, and no lock. The assignee may commit when it
    is told, which would stop the I/O thread and with it the heartbeats; it is therefore called on a
    thread of its own, and the I/O loop goes round meanwhile.

    Parameters
    ----------
    assignee
        Informed of every rebalance.
    is_committing
        Whether a commit is under way.

    """

    def __init__(self, assignee: Assignee, is_committing: Callable[[], bool]) -> None:
        super().__init__(assignee)
        self._is_committing = is_committing
        self._consumer: Any = None
        self._prepare_join: Callable[..., Awaitable[None]]

    def follow(self, consumer: Any, topic: str) -> None:  # noqa: ANN401 - kafka-python has no types
        """Subscribe `consumer` to `topic` and listen to what the group gives it."""
        self._consumer = consumer
        consumer.subscribe([topic], listener=self)
        coordinator = consumer._coordinator  # noqa: SLF001 - nothing public reaches it
        self._prepare_join = coordinator._on_join_prepare_async  # noqa: SLF001
        coordinator._on_join_prepare_async = self._end_commits_and_prepare_join  # noqa: SLF001

    async def _end_commits_and_prepare_join(self, *given: object, **options: object) -> None:
        """Let the commits end that name the present generation: a join begins another one.

        The broker would refuse them, and each partition would have to be restored.
        """
        while self._is_committing():
            await self._sleep()
        await self._prepare_join(*given, **options)

    def keep_join(self) -> None:
        """Make the next poll use the answer to a join that has come since the last one.

        kafka-python discards such an answer and joins again, which sets off another rebalance: two
        members that poll at different moments would repeat that without end.
        """
        coordinator = self._consumer._coordinator  # noqa: SLF001 - nothing public reaches it
        if isinstance(coordinator._join_task, Future) and not coordinator._join_task.failed():  # noqa: SLF001
            coordinator._join_task = _PendingJoin(coordinator._join_task)  # noqa: SLF001
            # A leader that joined because partitions were added sees no reason any more once it has shared
            # them out, and would leave the answer where it is.
            coordinator.rejoin_needed = True

    @contextmanager
    def joined_anew(self) -> Iterator[None]:
        """Ignore the group's answer if it is about a generation that a heartbeat has ended meanwhile.

        kafka-python compares the answer with a generation that is no more, or takes the answer and then
        looks for the protocol of that generation, and complains of another; the next poll joins again.
        """
        try:
            yield
        except InconsistentGroupProtocolError as error:
            if "SyncGroupResponse protocol_name" not in str(error):
                raise
        except ValueError as error:
            if "invalid assignment protocol: None" not in str(error):
                raise
            coordinator = self._consumer._coordinator  # noqa: SLF001 - nothing public reaches it
            # It has noted that it is a member, which the heartbeat knew better.
            coordinator.reset_generation(member_id=coordinator._generation.member_id)  # noqa: SLF001

    def is_member(self) -> bool:
        """Ask the group's coordinator; see `KafkaMembership.is_member`.

        By the client's own heartbeat, so what it finds out is acted upon at the next poll.
        """
        coordinator = self._consumer._coordinator  # noqa: SLF001 - nothing public reaches it
        try:
            self._consumer.connections.network.run(coordinator._send_heartbeat_request)  # noqa: SLF001
        except RebalanceInProgressError:
            return True  # what is ours stays so until it is revoked
        except (IllegalGenerationError, UnknownMemberIdError):
            return False
        return True

    def is_settled(self) -> bool:
        """Return whether this is a member of the present generation and knows all its partitions."""
        return self._consumer.group_metadata().state is MemberState.STABLE and not self._arrived

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Hold new partitions still until `Consumer.start`."""
        self._consumer.assign_paused(assigned)
        self._arrived |= {each.partition for each in assigned}

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Call the assignee, which may commit, then release the partitions."""
        await self._release(self._assignee.partitions_revoked, revoked)

    async def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        """Notify the assignee that the partitions were lost."""
        await self._release(self._assignee.partitions_lost, lost)

    async def _release(self, callback: Callable[[frozenset[int]], None], gone: set[TopicPartition]) -> None:
        partitions = frozenset(each.partition for each in gone)
        known = partitions & self.owned
        if known:
            caller = threading.Thread(
                target=self._call_assignee, args=(callback, known), name="rebalance", daemon=True
            )
            caller.start()
            while caller.is_alive():
                await self._sleep()
        self._remove(partitions)

    async def _sleep(self) -> None:
        await self._consumer.connections.network.sleep(_LOOK_AGAIN_SECONDS)
