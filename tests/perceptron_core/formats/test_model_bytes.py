import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import optim

from perceptron_core import (
    AROW,
    CoinBetting,
    DamagedError,
    HashedClassifier,
    Mixture,
    MulticlassPerceptron,
    NormalizedAdaGrad,
    Perceptron,
    StructuredPerceptron,
    from_bytes,
    to_bytes,
)
from perceptron_core.formats.model_bytes import freeze, settings_of
from perceptron_core.formats.packed import pack, seal, unpack, unseal
from perceptron_core.validation import MAX_LEARNED, NewerError
from tests.support.learners import KINDS, LINEAR, SEVERAL, TWO_CLASS, learn, streams

names = st.text(st.characters(exclude_categories=[])) | st.integers(-(2**63), 2**64 - 1) | st.booleans()
names |= st.tuples(st.text(max_size=3), st.integers(0, 9))
floats = st.floats(-MAX_LEARNED, MAX_LEARNED)


@given(st.dictionaries(names, floats.filter(bool), max_size=20), floats, st.integers(0, 2**40), st.booleans())
def test_model_round_trips_bit_for_bit(weights, bias, count, tie):
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


@given(st.data())
def test_changed_byte_and_every_truncation_are_detected(data):
    model = Perceptron()
    model.learn_one({"a": 1.0, "b": 0.5}, True)
    sealed = bytearray(to_bytes(model))
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= data.draw(st.integers(1, 255))
    for damaged in (sealed, to_bytes(model)[:position]):
        with pytest.raises(DamagedError):
            from_bytes(bytes(damaged))


def test_newer_version_is_rejected_by_name():
    with pytest.raises(NewerError, match="version 9; this release reads 1 to 2: a newer release wrote it"):
        from_bytes(seal(b"perceptron-model", 9, b""))


def test_another_kind_of_data_is_rejected_by_name():
    with pytest.raises(DamagedError, match="not a perceptron-model"):
        from_bytes(seal(b"perceptron-snapshot", 1, b""))


def test_unknown_class_is_rejected_by_name():
    with pytest.raises(DamagedError, match="unknown kind of perceptron-model: Neocognitron"):
        from_bytes(seal(b"perceptron-model", 1, pack(["Neocognitron", {}, {}])))


def test_feature_name_beyond_64_bits_cannot_be_saved():
    model = Perceptron()
    model.learn_one({2**70: 1.0}, True)
    with pytest.raises(TypeError, match="this Perceptron has an integer of more than 64 bits"):
        to_bytes(model)


def test_label_of_an_unsaveable_type_is_named():
    model = MulticlassPerceptron()
    model.learn_one({"a": 1.0}, Decimal(1))
    with pytest.raises(TypeError, match=r"labels, names .* expected strings, numbers.*Decimal"):
        to_bytes(model)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_model_is_read_from_any_buffer(kind):
    assert from_bytes(kind(to_bytes(Perceptron(threshold=2.0)))).threshold == 2.0


@pytest.mark.parametrize("data", [None, "perceptron-model"])
def test_model_is_read_from_bytes_only(data):
    with pytest.raises(TypeError, match="a bytes-like object is required"):
        from_bytes(data)


def test_object_of_another_library_is_rejected():
    with pytest.raises(TypeError, match="is not a model of perceptron_core"):
        to_bytes(object())


def test_weight_costs_at_most_sixteen_bytes_besides_its_name():
    model = Perceptron()
    model.weights = {f"text=word{number}": number + 0.1 for number in range(10_000)}
    length_of_names = sum(map(len, model.weights))
    assert len(to_bytes(model)) - length_of_names <= 16 * len(model.weights)


@given(st.binary(), st.integers(0, 65535))
def test_sealed_bytes_are_unsealed(body, version):
    assert unseal(b"kind", range(65536), seal(b"kind", version, body)) == (version, body)


def test_packed_sequences_are_restored_as_tuples():
    assert unpack(pack({"a": [1, [2.0, None]]})) == {"a": (1, (2.0, None))}


def test_schedule_is_saved_by_name_and_unknown_names_are_rejected():
    model = Perceptron(learning_rate=optim.schedulers.InverseScaling(2.0, power=0.7))
    assert repr(from_bytes(to_bytes(model))) == repr(model)
    unknown = Perceptron(learning_rate=optim.schedulers.Optimal(optim.losses.Hinge()))
    with pytest.raises(TypeError, match=r"learning_rate is a Optimal and .* Constant, InverseScaling"):
        to_bytes(unknown)


SENTENCES = StructuredPerceptron()
SENTENCES.learn_one([["the"], ["run"]], ["D", "N"])


@given(st.binary(max_size=40))
def test_sealed_body_of_any_bytes_is_damaged(body):
    with pytest.raises(DamagedError):
        from_bytes(seal(b"perceptron-model", 1, body))


@pytest.mark.parametrize("bits", [30, 2**62, -1])
@pytest.mark.parametrize("learner", ["Perceptron", "AROW", "NormalizedAdaGrad", "CoinBetting"])
def test_small_file_cannot_claim_much_memory(bits, learner):
    parameters = {"classifier": {"model": learner, "parameters": {}}, "bits": bits}
    for params in (parameters, {"classifier": {"model": "HashedClassifier", "parameters": parameters}}):
        with pytest.raises(DamagedError):
            from_bytes(seal(b"perceptron-model", 1, pack(["HashedClassifier", params, {}])))


def test_structured_perceptron_tables_cannot_claim_too_much_memory():
    name, params, state = unpack(to_bytes(SENTENCES)[34:])
    for table in ("emissions", "transitions"):
        wide = state | {table: state[table] | {"columns": 10**9}}
        with pytest.raises(DamagedError, match="tags and columns"):
            from_bytes(seal(b"perceptron-model", 1, pack([name, params, wide])))
    long = state | {"tags": [*range(30_000)], "emissions": state["emissions"] | {"keys": [*range(30_000)]}}
    with pytest.raises(DamagedError, match="bytes of memory"):
        from_bytes(seal(b"perceptron-model", 1, pack([name, params, long])))


@pytest.mark.parametrize(
    ("learner", "columns"), [(Perceptron, 2), (AROW, 2), (NormalizedAdaGrad, 3), (CoinBetting, 5)]
)
def test_memory_that_a_file_may_claim_is_limited(learner, columns):
    written, n_bytes = to_bytes(HashedClassifier(learner(), bits=16)), columns * 8 * 2**16
    assert from_bytes(written, max_bytes=n_bytes).bits == 16
    with pytest.raises(DamagedError, match=f"asks for {n_bytes} bytes"):
        from_bytes(written, max_bytes=n_bytes - 1)


def test_tables_of_all_experts_count():
    experts = [HashedClassifier(Perceptron(), bits=16), Mixture([HashedClassifier(AROW(), bits=15)])]
    written, n_bytes = to_bytes(Mixture(experts)), 2 * 8 * (2**16 + 2**15)
    assert len(from_bytes(written, max_bytes=n_bytes).experts) == 2
    with pytest.raises(DamagedError, match=f"asks for {n_bytes} bytes"):
        from_bytes(written, max_bytes=n_bytes - 1)


HASHED = {f"hashed {name}": HashedClassifier(each, 3) for name, each in LINEAR.items()}


@given(streams, streams)
def test_frozen_model_is_saved_without_later_learning(before, after):
    for name, untrained in (TWO_CLASS | SEVERAL | HASHED).items():
        model = learn(untrained.clone(), _of_model(name, before))
        written, frozen = to_bytes(model), freeze(model)
        learn(model, _of_model(name, after))
        assert b"".join(frozen.iter_chunks()) == written, name
        assert b"".join(frozen.iter_chunks()) == written, f"{name}, a second time"


def _of_model(name, stream):
    """Make features integers where they have to be, and labels the classes of the model."""
    if name in HASHED:
        return [({ord(each) % 8: value for each, value in x.items()}, y) for x, y in stream]
    return [(x, KINDS[y]) if name.endswith("(classes)") else (x, y) for x, y in stream]


def test_settings_are_saved_next_to_an_unchanged_model():
    model = Perceptron()
    model.learn_one({"a": 1.0}, True)
    written = to_bytes(model, {"text": "chars", "ngrams": (4, 4)})
    assert settings_of(written) == {"text": "chars", "ngrams": (4, 4)}
    assert to_bytes(from_bytes(written)) == to_bytes(model)
    assert settings_of(to_bytes(model)) is None
