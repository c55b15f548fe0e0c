"""Packs a snapshot on a thread of its own, while the loop goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, Thread
from typing import Final

from service.stream.protocol import Output

_TURN: Final = Lock()
"""Held while one is packed: a copy of a state takes as much memory as the state."""


class Packing:
    """Packs one snapshot; a process begins the next when it is done, whichever partition's.

    Parameters
    ----------
    pack
        Returns the records.

    """

    def __init__(self, pack: Callable[[], Sequence[Output]]) -> None:
        self._records: Sequence[Output] = ()
        self._error: BaseException | None = None
        _TURN.acquire()
        self._thread = Thread(target=self._pack, args=(pack,), name="snapshot", daemon=True)
        self._thread.start()

    @staticmethod
    def is_free() -> bool:
        """Return whether none is being packed."""
        return not _TURN.locked()

    def is_done(self) -> bool:
        """Return whether the records are there."""
        return not self._thread.is_alive()

    def records(self) -> Sequence[Output]:
        """Wait for the records. Raises what packing has raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._records

    def _pack(self, pack: Callable[[], Sequence[Output]]) -> None:
        try:
            self._records = pack()
        except BaseException as error:  # noqa: BLE001  raised where it is asked for
            self._error = error
        finally:
            _TURN.release()
