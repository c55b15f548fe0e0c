import math
import struct
from array import array
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.formats.packed import pack, unpack
from perceptron_core.weights.values import IndexedValues, NamedValues
from service.partition.examples import Example, LearnedExamples, count_numbers, pack_rows, row_of
from service.partition.label_join import LabelJoin

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


def noted(notes, *, has_log_odds):
    learned = LearnedExamples(has_log_odds=has_log_odds)
    for number, (predicted, truth, score, updates, delay) in enumerate(notes):
        example = Example(f"e{number}", {"n": float(number)}, predicted, score, 0)
        learned.note(example, truth, 0.5, updates, delay)
        assert (example.truth, example.step) == (truth, 0.5)
    return learned


@given(NOTES, st.booleans())
def test_columns_of_learned_examples_equal_their_steps(notes, has_log_odds):
    learned = noted(notes, has_log_odds=has_log_odds)
    steps = [*learned]
    of_two = [(p, t) for p, t, *_ in notes if isinstance(p, bool) and isinstance(t, bool)]
    assert [(s.example.predicted, s.truth, s.example.score, s.updates) for s in steps] == [
        each[:4] for each in notes
    ]
    assert learned.mistakes == [s.mistake for s in steps] == [p != t for p, t, *_ in notes]
    assert [*learned.scores_of(True)] == [score for _, truth, score, *_ in notes if truth is True]
    margins = [s if t else -s for _, t, s, *_ in notes if isinstance(t, bool)]
    assert sorted(learned.margins()) == sorted(margins)
    assert [*learned.label_delays()] == [delay for *_, delay in notes if not math.isnan(delay)]
    assert learned.log_odds() == [abs(s) if isinstance(p, bool) else s for p, _, s, *_ in notes]
    assert {s.probability is not None for s in steps} <= {has_log_odds}
    assert learned.cells() == (bytes(2 * t + p for p, t in of_two) if len(of_two) == len(notes) else None)


@given(NOTES)
def test_steps_since_the_last_update_omit_late_labels(notes):
    learned = noted(notes, has_log_odds=False)
    latest = [step for step in learned if step.label_delay_seconds is None]
    found = learned.since_last_update()
    assert bool(found) is bool(latest)
    assert found == latest[len(latest) - len(found) :]
    assert {step.updates for step in found} == {step.updates for step in latest[-1:]}
    if before := latest[: len(latest) - len(found)]:
        assert before[-1].updates != found[0].updates


def test_slice_equals_the_slice_of_a_list():
    learned = noted([(True, n % 2 == 0, float(n), n, math.nan) for n in range(100)], has_log_odds=True)
    steps = [*learned]
    assert [*learned[-7:]] == steps[-7:]
    assert [*learned[3:1000:5]] == steps[3::5]
    assert (learned[0], learned[-1]) == (steps[0], steps[-1])
    with pytest.raises(IndexError):
        learned[100]


def test_learned_truth_is_unchanged_by_later_correction():
    learned, example = LearnedExamples(), Example("a", {}, True, 1.0, 0)
    learned.note(example, False, 0.0, 1)
    example.truth = True
    assert (learned[0].truth, learned[0].mistake) == (False, True)


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("message_bytes", [40, 5000])
def test_features_are_stored_equally_in_each_form(indexed, message_bytes):
    x = {n if indexed else f"é{n}": (-1) ** n / (n + 3) for n in (2, 0, 255, 65536)}
    made = IndexedValues if indexed else NamedValues
    both = [Example("e", kept, True, 1.5, 7, message_bytes) for kept in (x, made([*x], x.values()))]
    sizes = {example.compact() for example in both}
    assert sizes == {both[0].size_bytes}
    assert {type(example.kept) is bytes for example in both} == {message_bytes == 5000}
    assert [[*example.x.items()] for example in both] == [[*x.items()]] * 2
    assert len({b"".join(pack_rows([row_of(example)])) for example in both}) == 1


@pytest.mark.parametrize("n", [0, 12, 2500, 65_536])
def test_any_number_of_examples_round_trips(n):
    join, other = LabelJoin(10, 70_000), LabelJoin(10, 70_000)
    for k in range(n):
        made = Example(f"e{k}", NamedValues(["a"], [k / 3]), k % 2 == 0, -1.0, k)
        made.weight = 1.0 + k % 2
        join.keep(made)
    other.restore(unpack(pack(join.state())))
    assert pack(other.state()) == pack(join.state())
    assert [*other.examples] == [f"e{k}" for k in range(n)]


def test_copied_join_is_packed_as_copied_despite_later_events():
    join = LabelJoin(10, 5000)
    for k in range(3000):
        join.keep(Example(f"e{k}", {"a": k / 3}, False, -1.0, k))
    copied, state = join.state(), pack(join.state())
    assert copied.size_bytes == pytest.approx(len(state), rel=0.1)
    for example in join.examples.values():
        example.truth, example.step = True, 0.25
    for k in range(3000, 6000):
        join.keep(Example(f"e{k}", {}, True, 1.0, k))
    assert pack(copied) == state


@given(scores=st.lists(st.floats(allow_nan=False), max_size=50))
def test_scores_are_counted_by_their_first_15_bits_in_order(scores):
    numbers = [struct.unpack("<q", struct.pack("<d", score + 0.0))[0] >> 49 for score in scores]
    assert count_numbers(array("d", scores)) == [*Counter(numbers).items()]
