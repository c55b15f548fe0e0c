import pytest

from perceptron_core.formats.packed import Packed, pack, pack_around, packed_of, unpack

FIELDS = {
    "model": b"m",
    "join": {"now_ms": 3, "examples": [("a", {"x": 0.5}, True)]},
    "classes": ("no", "yes"),
}


@pytest.mark.parametrize("already", [(), ("model",), ("join",), ("join", "classes"), tuple(FIELDS)])
def test_a_mapping_of_packed_values_is_packed_as_if_none_were(already):
    fields = FIELDS | {name: Packed([pack(FIELDS[name])]) for name in already}
    assert b"".join(pack_around(fields).pieces) == pack(FIELDS)


@pytest.mark.parametrize("n", [0, 15, 16, 70_000])
def test_mappings_of_any_size_are_packed_alike(n):
    fields = {f"name {k}": k for k in range(n)}
    assert b"".join(pack_around(fields).pieces) == pack(fields)


def test_pieces_follow_each_other():
    packed = pack([1, 2, "three"])
    pieces = [packed[:2], b"", packed[2:]]
    assert b"".join(pack_around({"a": Packed(pieces), "b": 4}).pieces) == pack({"a": [1, 2, "three"], "b": 4})


def test_a_packed_mapping_is_read_as_the_mapping_it_stands_for():
    packed = pack_around(FIELDS)
    assert dict(packed) == unpack(pack(FIELDS))
    assert len(packed) == len(FIELDS)
    assert packed["classes"] == ("no", "yes")
    assert packed_of(packed) is packed
