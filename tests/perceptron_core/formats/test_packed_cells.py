"""Features and their cells are written as `msgpack` writes a dictionary of them, to the byte."""

from array import array

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import Perceptron, to_bytes
from perceptron_core.formats import model_bytes
from perceptron_core.formats.packed import Packed, pack, pack_around, packed_of, unpack

try:
    from perceptron_core.formats import packed_cells
except ImportError:
    packed_cells = None

compiled = pytest.mark.skipif(model_bytes.freeze_cells is None, reason="not compiled")

LENGTHS = (0, 1, 31, 32, 255, 256, 65_535, 65_536)
"""Of texts, on both sides of each length from which on the length takes more bytes."""
INTEGERS = (0, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**64 - 1, -1, -(2**63))
NAMES = (
    st.text(st.characters(codec=None), max_size=40)
    | st.sampled_from(LENGTHS).map("x".__mul__)
    | st.sampled_from(INTEGERS)
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.tuples(st.text(max_size=3), st.integers(-5, 5))
)


def packed(cells):
    names = packed_cells.FrozenNames([*cells], array("q", range(len(cells))))
    return b"".join(packed_cells.FrozenCells(names, array("d", cells.values()), True).iter_chunks())


@compiled
@given(st.dictionaries(NAMES, st.floats(), max_size=40))
def test_cells_of_any_names_and_numbers_equal_msgpack(cells):
    assert packed(cells) == msgpack.packb(cells, unicode_errors="surrogatepass")


@compiled
def test_names_in_reused_slots_keep_their_order(monkeypatch):
    model = Perceptron()
    names = [f"feature {k}" for k in range(20_000)]
    model.learn_one(dict.fromkeys(names, 1.0), True)
    model.undo_one(dict.fromkeys(names[::3], 1.0), 1.0)
    model.learn_one({f"new {name}": 2.0 for name in names[::2]}, True, 3.0)
    written = to_bytes(model)
    monkeypatch.setattr(model_bytes, "freeze_cells", None)
    assert to_bytes(model) == written


@compiled
def test_estimated_size_is_near_the_written_size():
    for name in ("x", "a name of some length"):
        cells = {f"{name} {k}": float(k) for k in range(10_000)}
        names = packed_cells.FrozenNames([*cells], array("q", range(len(cells))))
        frozen = packed_cells.FrozenCells(names, array("d", cells.values()), False)
        assert frozen.size_bytes == pytest.approx(sum(map(len, frozen.iter_chunks())), rel=0.3)


@compiled
@pytest.mark.parametrize("n", [15, 16, 65_535, 65_536])
def test_any_number_of_cells_equals_msgpack(n):
    cells = {f"feature {k}": float(k) for k in range(n)}
    assert packed(cells) == msgpack.packb(cells)


FIELDS = {
    "model": b"m",
    "join": {"event_time_ms": 3, "examples": [("a", {"x": 0.5}, True)]},
    "classes": ("no", "yes"),
}


@pytest.mark.parametrize("already", [(), ("model",), ("join",), ("join", "classes"), tuple(FIELDS)])
def test_mapping_of_packed_values_packs_like_plain_values(already):
    fields = FIELDS | {name: Packed([pack(FIELDS[name])]) for name in already}
    assert b"".join(pack_around(fields).chunks) == pack(FIELDS)


@pytest.mark.parametrize("n", [0, 15, 16, 70_000])
def test_mappings_of_any_size_have_equal_bytes(n):
    fields = {f"name {k}": k for k in range(n)}
    assert b"".join(pack_around(fields).chunks) == pack(fields)


def test_packed_value_is_embedded_piece_by_piece():
    packed = pack([1, 2, "three"])
    chunks = [packed[:2], b"", packed[2:]]
    assert b"".join(pack_around({"a": Packed(chunks), "b": 4}).chunks) == pack({"a": [1, 2, "three"], "b": 4})


def test_packed_mapping_equals_the_mapping():
    packed = pack_around(FIELDS)
    assert dict(packed) == unpack(pack(FIELDS))
    assert len(packed) == len(FIELDS)
    assert packed["classes"] == ("no", "yes")
    assert packed_of(packed) is packed
