import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.formats.model_bytes import pack
from perceptron_core.weights.indexed_values import IndexedValues
from perceptron_core.weights.named_values import NamedValues
from service.partition.example import Example, fields_of
from service.partition.label_join import LabelJoin
from service.partition.packed_examples import pack_examples

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    [edge + step for edge in (0, 1 << 7, 1 << 8, 1 << 16, 1 << 32) for step in (-1, 0, 1)]
)
TEXTS = st.text(st.characters(codec=None), max_size=40) | st.text("ab", min_size=28, max_size=300)
DOUBLES = st.floats(allow_nan=False)
CLASSES = st.booleans() | TEXTS
NAMED = st.dictionaries(TEXTS, DOUBLES, max_size=40).map(lambda x: NamedValues([*x], x.values()))
KEPT = NAMED | st.dictionaries(TEXTS, DOUBLES | TEXTS | st.booleans(), max_size=4) | st.binary(max_size=300)
EXAMPLES = st.builds(
    Example,
    KEPT,
    CLASSES,
    DOUBLES,
    NUMBERS,
    st.none() | CLASSES,
    DOUBLES | st.binary(max_size=9) | st.tuples(DOUBLES, st.integers(0, 9)) | st.none(),
    st.integers(0, 2**40),
    st.binary(max_size=60),
)


def expected(examples):
    return pack([(event_id, *fields_of(example)) for event_id, example in examples.items()])


@given(st.dictionaries(TEXTS, EXAMPLES, max_size=20))
def test_examples_are_packed_as_lists_of_their_fields(examples):
    assert b"".join(pack_examples(examples)) == expected(examples)


@pytest.mark.parametrize("n", [0, 15, 16, 65_536])
def test_any_number_of_examples_is_packed(n):
    examples = {str(k): Example({}, True, 0.5, k) for k in range(n)}
    assert b"".join(pack_examples(examples)) == expected(examples)


def test_examples_that_fill_several_pieces_are_packed():
    names = [f"feature {k}" for k in range(12)]
    examples = {
        f"id-{k}": Example(
            NamedValues(names, [math.sin(k + i) for i in range(12)]), True, 1.0, 1 << 40, False, -1.0
        )
        for k in range(3000)
    }
    large = {
        "large": Example(bytes(range(256)) * 3000, False, -0.0, 5),
        "behind": Example({"a": 1.0}, True, 2.0, 6),
    }
    examples |= large
    assert b"".join(pack_examples(examples)) == expected(examples)


def test_texts_without_names_are_packed_as_their_dictionary():
    examples = {"e": Example(IndexedValues([7, 3], [1.0, 2.0]), True, 1.0, 9)}
    assert b"".join(pack_examples(examples)) == expected(examples)


def test_the_packed_state_of_a_join_is_its_state():
    join = LabelJoin(10, 10)
    for k in range(12):
        join.keep(f"e{k}", Example(NamedValues(["a"], [k / 3]), False, -1.0, k))
    assert b"".join(join.packed_state().pieces) == pack(join.state())
