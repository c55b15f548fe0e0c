import importlib.util
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.partition import learned_examples
from service.partition.example import Example
from service.partition.learned_examples import LearnedExamples


def interpreted():
    path = Path(learned_examples.__file__).with_name("learned_examples.py")
    spec = importlib.util.spec_from_file_location("interpreted_learned_examples", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LearnedExamples


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
    one, other = (noted(made, notes, has_log_odds) for made in (LearnedExamples, interpreted()))
    assert [*one] == [*other]
    assert [repr(getattr(one, name)()) for name in COLUMNS] == [
        repr(getattr(other, name)()) for name in COLUMNS
    ]
    assert (one.n_mistakes, one.since_last_update()) == (other.n_mistakes, other.since_last_update())
    for name in COLUMNS:
        assert list(getattr(LearnedExamples(other), name)() or ()) == list(getattr(one, name)() or ())


@pytest.mark.parametrize("made", [LearnedExamples, interpreted()])
def test_a_part_is_what_a_list_would_have_there(made):
    learned = noted(made, [(True, n % 2 == 0, float(n), n, math.nan) for n in range(100)], has_log_odds=True)
    steps = [*learned]
    assert [*learned[-7:]] == steps[-7:]
    assert [*learned[3:1000:5]] == steps[3::5]
    assert (learned[0], learned[-1]) == (steps[0], steps[-1])
    with pytest.raises(IndexError):
        learned[100]


@pytest.mark.parametrize("made", [LearnedExamples, interpreted()])
def test_a_truth_that_is_corrected_later_stays_what_was_learned(made):
    learned, example = made(), Example({}, True, 1.0, 0)
    learned.note("a", example, False, 0.0, 1)
    example.truth = True
    assert (learned[0].truth, learned[0].mistake) == (False, True)
