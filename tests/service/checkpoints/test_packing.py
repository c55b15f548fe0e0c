import threading
import weakref

import pytest

from service.loop.snapshots import Packing


def test_what_was_packed_is_there_once_it_is_done():
    may_end = threading.Event()

    def pack():
        may_end.wait(10)
        return ["record"]

    packing = Packing(pack)
    assert not packing.is_done()
    assert not Packing.is_free(), "one is packed at a time"
    may_end.set()
    assert packing.records() == ["record"]
    assert packing.is_done()
    assert Packing.is_free()


def test_what_packing_raises_is_raised_where_the_records_are_asked_for():
    def pack():
        raise MemoryError("no room")

    packing = Packing(pack)
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room"):
            packing.records()
    assert Packing.is_free()


def test_what_was_packed_is_let_go_once_it_is_done():
    class State:
        def pack(self):
            return ["record"]

    state = State()
    is_there, packing = weakref.ref(state), Packing(state.pack)
    del state
    assert packing.records() == ["record"]
    assert is_there() is None
