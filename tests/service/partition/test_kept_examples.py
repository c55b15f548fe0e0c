import gc
import math
import sys
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.formats.packed import pack
from perceptron_core.weights.values import IndexedValues, NamedValues
from service.partition.examples import Example, fields_of
from service.partition.kept_examples import KeptExamples, freeze_examples, pack_examples
from service.partition.label_join import LabelJoin

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


def example(timestamp_ms=0):
    return Example({"a": 1.0}, True, 1.0, timestamp_ms)


def filled(n, first=0):
    kept = KeptExamples()
    for k in range(first, first + n):
        kept.add(f"id-{k}", example(k))
    return kept


@given(st.lists(st.integers(-3, 200), max_size=400))
def test_they_are_an_ordered_dictionary_that_loses_its_oldest_entries(steps):
    kept, model = KeptExamples(), OrderedDict()
    for step in steps:
        event_id = f"id-{step}"
        if step < 0 and model:
            kept.drop_oldest()
            model.popitem(last=False)
        elif event_id not in model:
            model[event_id] = example(step)
            kept.add(event_id, model[event_id])
        assert kept.get(event_id) is model.get(event_id)
        assert len(kept) == len(model)
    assert [*kept.items()] == [*model.items()]
    assert [*kept] == [*kept.keys()] == [*model]
    assert [*kept.values()] == [*model.values()]
    assert all(kept[event_id] is model[event_id] for event_id in model)


def test_any_number_of_examples_is_found_while_old_ones_leave():
    kept = filled(5000)
    for k in range(5000, 40_000):
        kept.add(f"id-{k}", example(k))
        kept.drop_oldest()
        assert f"id-{k - 5000}" not in kept
    assert [each.timestamp_ms for each in kept.values()] == [*range(35_000, 40_000)]
    assert all(kept.get(f"id-{k}").timestamp_ms == k for k in range(35_000, 40_000))


def test_the_oldest_one_is_seen_before_it_leaves():
    kept = filled(3, first=7)
    assert (kept.oldest_id(), kept.oldest(), kept.oldest_ms()) == ("id-7", kept["id-7"], 7)
    kept.drop_oldest()
    assert (kept.oldest_id(), kept.oldest_ms()) == ("id-8", 8)


def test_an_example_knows_the_id_that_is_kept():
    event_id, same = (f"id-{number}" for number in (1, 1))
    assert same is not event_id
    assert KeptExamples([(event_id, example())]).get(same).event_id is event_id


def test_an_id_is_found_by_its_text():
    kept = KeptExamples([("é" * 20, example(1)), ("abc" * 20, example(2)), ("", example(3))])
    assert [kept[name].timestamp_ms for name in ("é" * 20, "".join(["abc"] * 20), "")] == [1, 2, 3]
    assert [kept.get(name, 5) for name in ("é" * 19, "ab", "abc" * 19)] == [5] * 3


def test_an_id_that_is_not_there_is_a_key_error():
    with pytest.raises(KeyError, match="id-3"):
        filled(3)["id-3"]


def test_examples_that_are_dropped_are_let_go():
    once = example()
    before = sys.getrefcount(once)
    kept = KeptExamples()
    for k in range(1000):
        kept.add(f"id-{k}", once)
    for _ in range(990):
        kept.drop_oldest()
    assert sys.getrefcount(once) == before + len(kept) == before + 10
    del kept
    gc.collect()
    assert sys.getrefcount(once) == before


def expected(examples):
    return pack([(event_id, *fields_of(example)) for event_id, example in examples.items()])


@given(st.dictionaries(TEXTS, EXAMPLES, max_size=20))
def test_examples_are_packed_as_lists_of_their_fields(examples):
    assert b"".join(pack_examples(freeze_examples(KeptExamples(examples)))) == expected(examples)


@pytest.mark.parametrize("n", [0, 15, 16, 65_536])
def test_any_number_of_examples_is_packed(n):
    examples = {str(k): Example({}, True, 0.5, k) for k in range(n)}
    assert b"".join(pack_examples(freeze_examples(KeptExamples(examples)))) == expected(examples)


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
    assert b"".join(pack_examples(freeze_examples(KeptExamples(examples)))) == expected(examples)


def test_texts_without_names_are_packed_as_their_dictionary():
    examples = {"e": Example(IndexedValues([7, 3], [1.0, 2.0]), True, 1.0, 9)}
    assert b"".join(pack_examples(freeze_examples(KeptExamples(examples)))) == expected(examples)


@pytest.mark.parametrize("n", [12, 2500])
def test_the_packed_state_of_a_join_is_its_state(n):
    join = LabelJoin(10, n)
    for k in range(n + 2):
        join.keep(f"e{k}", Example(NamedValues(["a"], [k / 3]), False, -1.0, k))
    assert b"".join(join.packed_state().pieces) == pack(join.state())


def test_a_copied_join_is_packed_as_it_was_whatever_comes_since():
    join = LabelJoin(10, 5000)
    for k in range(3000):
        join.keep(f"e{k}", Example({"a": k / 3}, False, -1.0, k))
    copied, state = join.packed_state(), pack(join.state())
    assert copied.size_bytes == pytest.approx(len(state), rel=0.1)
    for example in join.examples.values():
        example.truth, example.step = True, 0.25
    for k in range(3000, 6000):
        join.keep(f"e{k}", Example({}, True, 1.0, k))
    assert b"".join(copied.written()) == state
