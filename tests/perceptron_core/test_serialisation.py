import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import optim

from perceptron_core import DamagedError, Perceptron, from_bytes, to_bytes
from perceptron_core.envelope import seal, unseal
from perceptron_core.serialisation import pack, unpack

names = st.text(st.characters(exclude_categories=[])) | st.integers(-(2**63), 2**64 - 1) | st.booleans()
names |= st.tuples(st.text(max_size=3), st.integers(0, 9))
floats = st.floats(allow_nan=False, allow_infinity=False)


GOLDEN = (
    "5cb6a6a86d34344c8289730e8f01a61993aa50657263657074726f6e85a97468726573686f6c64cb3fe0000000000000"
    "a3746965c2ad7570646174655f6f6e5f746965c3ad6c6561726e696e675f72617465cb3ff0000000000000ad6669745f"
    "696e74657263657074c384a77765696768747382a161cb400400000000000007cbbff0000000000000a462696173cb3f"
    "f0000000000000aa6e5f6d697374616b657303a96e5f7570646174657304"
)


@given(st.dictionaries(names, floats.filter(bool), max_size=20), floats, st.integers(0, 2**40), st.booleans())
def test_a_model_comes_back_bit_for_bit(weights, bias, count, tie):
    model = Perceptron(threshold=0.1, tie=tie, learning_rate=1e-3)
    model.weights, model.bias, model.n_mistakes, model.n_updates = weights, bias, count, count + 1
    restored = from_bytes(to_bytes(model))
    assert repr(restored) == repr(model)
    assert list(restored.weights) == list(weights)
    assert [struct.pack("d", w) for w in restored.weights.values()] == [
        struct.pack("d", w) for w in weights.values()
    ]
    assert struct.pack("d", restored.bias) == struct.pack("d", bias)
    assert (restored.n_mistakes, restored.n_updates) == (count, count + 1)


def test_the_restored_model_shares_nothing_with_the_original():
    model = Perceptron()
    model.learn_one({"a": 1.0}, True)
    restored = from_bytes(to_bytes(model))
    restored.learn_one({"a": 1.0}, False)
    assert model.weights == {"a": 1.0}


@given(st.data())
def test_one_changed_byte_is_always_noticed(data):
    model = Perceptron()
    model.learn_one({"a": 1.0, "b": 0.5}, True)
    sealed = bytearray(to_bytes(model))
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedError):
        from_bytes(bytes(sealed))


@given(st.integers(0, 60))
def test_every_truncation_is_noticed(length):
    with pytest.raises(DamagedError):
        from_bytes(to_bytes(Perceptron())[:length])


def test_a_newer_version_is_refused_by_name():
    with pytest.raises(DamagedError, match="version 9; this release reads 1 to 1"):
        from_bytes(seal(b"perceptron-model", 9, b""))


def test_another_kind_of_data_is_refused_by_name():
    with pytest.raises(DamagedError, match="no perceptron-model"):
        from_bytes(seal(b"perceptron-snapshot", 1, b""))


def test_an_unknown_class_is_refused_by_name():
    with pytest.raises(DamagedError, match="is a Neocognitron"):
        from_bytes(seal(b"perceptron-model", 1, pack(["Neocognitron", {}, {}])))


def test_a_model_of_somebody_else_is_refused():
    with pytest.raises(TypeError, match="no model of perceptron_core"):
        to_bytes(object())


def test_a_model_costs_at_most_sixteen_bytes_a_weight_beyond_its_name():
    model = Perceptron()
    model.weights = {f"text=word{number}": number + 0.1 for number in range(10_000)}
    length_of_names = sum(map(len, model.weights))
    assert len(to_bytes(model)) - length_of_names <= 16 * len(model.weights)


def test_files_of_the_first_release_are_read():
    written = bytes.fromhex(
        "70657263657074726f6e2d6d6f64656c0001"  # kind, version 1
        + GOLDEN
    )
    model = from_bytes(written)
    assert (model.weights, model.bias, model.n_mistakes, model.n_updates) == ({"a": 2.5, 7: -1.0}, 1.0, 3, 4)
    assert model.threshold == 0.5


@given(st.binary(), st.integers(0, 65535))
def test_what_was_sealed_is_unsealed(body, version):
    assert unseal(b"kind", range(65536), seal(b"kind", version, body)) == (version, body)


def test_packed_sequences_come_back_as_tuples():
    assert unpack(pack({"a": [1, [2.0, None]]})) == {"a": (1, (2.0, None))}


def test_a_schedule_is_written_by_name_and_one_we_do_not_know_is_refused():
    model = Perceptron(learning_rate=optim.schedulers.InverseScaling(2.0, power=0.7))
    assert repr(from_bytes(to_bytes(model))) == repr(model)
    unknown = Perceptron(learning_rate=optim.schedulers.Optimal(optim.losses.Hinge()))
    with pytest.raises(TypeError, match=r"learning_rate is a Optimal; .* Constant, InverseScaling"):
        to_bytes(unknown)
