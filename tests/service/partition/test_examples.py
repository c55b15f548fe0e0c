import importlib.util
import math
import struct
from array import array
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.weights.values import IndexedValues, NamedValues
from service.partition import examples as module
from service.partition.examples import Example, LearnedExamples, count_numbers, fields_of
from service.partition.label_join import LabelJoin


@cache
def interpreted():
    path = Path(module.__file__).with_name("examples.py")
    spec = importlib.util.spec_from_file_location("interpreted_examples", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


OF_TWO = st.booleans()
NOTES = st.lists(
    st.tuples(
        *(OF_TWO | st.sampled_from(["a", "b"]), OF_TWO | st.sampled_from(["a", "b"])),
        st.floats(-1e9, 1e9),
        st.integers(0, 3),
        st.just(math.nan) | st.floats(0, 1e6),
    ),
    max_size=100,
)
COLUMNS = ("mistakes", "truths", "predictions", "scores", "margins", "label_delays", "log_odds", "cells")


def noted(made, notes, has_log_odds):
    learned = made(has_log_odds=has_log_odds)
    for number, (predicted, truth, score, updates, delay) in enumerate(notes):
        example = Example({"n": float(number)}, predicted, score, 0)
        learned.note(f"e{number}", example, truth, 0.5, updates, delay)
        assert (example.truth, example.step) == (truth, 0.5)
    return learned


@given(NOTES, st.booleans())
def test_compiled_and_interpreted_say_the_same(notes, has_log_odds):
    one, other = (
        noted(made, notes, has_log_odds) for made in (LearnedExamples, interpreted().LearnedExamples)
    )
    assert [*one] == [*other]
    assert [repr(getattr(one, name)()) for name in COLUMNS] == [
        repr(getattr(other, name)()) for name in COLUMNS
    ]
    assert (one.n_mistakes, one.since_last_update()) == (other.n_mistakes, other.since_last_update())
    for name in COLUMNS:
        assert list(getattr(LearnedExamples(other), name)() or ()) == list(getattr(one, name)() or ())


@pytest.mark.parametrize("made", [LearnedExamples, interpreted().LearnedExamples])
def test_a_part_is_what_a_list_would_have_there(made):
    learned = noted(made, [(True, n % 2 == 0, float(n), n, math.nan) for n in range(100)], has_log_odds=True)
    steps = [*learned]
    assert [*learned[-7:]] == steps[-7:]
    assert [*learned[3:1000:5]] == steps[3::5]
    assert (learned[0], learned[-1]) == (steps[0], steps[-1])
    with pytest.raises(IndexError):
        learned[100]


@pytest.mark.parametrize("made", [LearnedExamples, interpreted().LearnedExamples])
def test_a_truth_that_is_corrected_later_stays_what_was_learned(made):
    learned, example = made(), Example({}, True, 1.0, 0)
    learned.note("a", example, False, 0.0, 1)
    example.truth = True
    assert (learned[0].truth, learned[0].mistake) == (False, True)


def test_features_are_kept_alike_in_each_form():
    x = {"b": 0.25, "a": -1.0}
    examples = [Example(kept, True, 1.5, 7, message_bytes=40) for kept in (x, NamedValues([*x], x.values()))]
    assert [[*example.x.items()] for example in examples] == [[*x.items()]] * 2
    assert [example.compact() for example in examples] == [examples[0].size_bytes] * 2
    assert fields_of(examples[0]) == fields_of(examples[1]) == (x, True, 1.5, 7, None, 0.0, 40, b"")


def test_features_of_a_large_event_are_packed_alike_in_each_form():
    x = {f"f{n}": float(n) for n in range(100)}
    examples = [
        Example(kept, True, 1.5, 7, message_bytes=5000) for kept in (x, NamedValues([*x], x.values()))
    ]
    assert len({example.compact() for example in examples}) == 1
    assert [type(example.kept) for example in examples] == [bytes] * 2
    assert fields_of(examples[0]) == fields_of(examples[1])
    assert [example.x for example in examples] == [x] * 2


def test_the_state_of_a_join_holds_dictionaries():
    join = LabelJoin(10, 10)
    join.keep("e", Example(NamedValues(["a"], [1.0]), False, -1.0, 5))
    ((_, kept, *_),) = join.state()["examples"]
    assert type(kept) is dict


@pytest.mark.parametrize("count", [count_numbers, interpreted().count_numbers])
@given(scores=st.lists(st.floats(allow_nan=False), max_size=50))
def test_scores_are_counted_by_their_first_15_bits_in_the_order_they_come(count, scores):
    numbers = [struct.unpack("<q", struct.pack("<d", score + 0.0))[0] >> 49 for score in scores]
    for _ in range(2):  # nothing is left of the first
        assert count(array("d", scores)) == [*Counter(numbers).items()]


@pytest.mark.parametrize(
    "names", [[], ["a"], ["a" * n for n in range(1, 16)], ["x" * 31, "y" * 32, "z" * 255]]
)
@pytest.mark.parametrize("others", [[], [f"e[{n}]" for n in range(300)], ["é"], ["x" * 256], ["\x00"]])
def test_an_array_is_packed_as_its_dictionary_is(names, others):
    x = {name: (-1) ** k / (k + 3) for k, name in enumerate([*names, *others])}
    arrays, plain = (Example(kept, True, 1.5, 7) for kept in (NamedValues([*x], x.values()), x))
    assert arrays.pack() == plain.pack()
    assert arrays.content == plain.content


@pytest.mark.parametrize("indices", [[], [0, 127, 128, 255, 256], [65535, 65536, 2**31 - 1], [*range(300)]])
def test_indices_are_packed_as_their_dictionary_is(indices):
    x = {index: (-1) ** k / (k + 3) for k, index in enumerate(indices)}
    arrays, plain = (Example(kept, True, 1.5, 7) for kept in (IndexedValues([*x], x.values()), x))
    assert arrays.pack() == plain.pack()
    assert arrays.content == plain.content
