"""Features that a text has more than once; what is kept of them is also tested through `TextHasher`."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import TextHasher
from perceptron_core.text.hasher import Repeats
from perceptron_core.weights.example import COMPILED
from tests.support.plain_text import plain_text_features

interpreted = pytest.mark.skipif(COMPILED, reason="machine code has no such method, and is not interrupted")
forms = pytest.mark.parametrize(("bits", "counts"), [(4, False), (4, True), (30, False), (30, True)])
"""With marks, and with a table for either reason."""


@interpreted
@forms
@given(rows=st.lists(st.lists(st.integers(0, 15), max_size=40), max_size=5))
def test_rows_behind_each_other_keep_the_first_of_each_and_count_on_demand(bits, counts, rows):
    repeats, indices, values = Repeats(bits, counts), array("i", [0] * 200), array("d", [0.0] * 200)
    start = 0
    for row in rows:
        indices[start : start + len(row)] = array("i", row)
        end = repeats.merge(indices, values, start, start + len(row))
        assert [*indices[start:end]] == [*dict.fromkeys(row)]
        if counts:
            assert [*values[start:end]] == [row.count(index) for index in indices[start:end]]
        start = end


@interpreted
@forms
def test_a_row_that_is_interrupted_has_no_effect_on_the_next(bits, counts):
    repeats, values = Repeats(bits, counts), array("d", [0.0] * 8)
    indices = array("i", [3, 1, 4, 1, 5, 9, 2, 6])
    with pytest.raises(TypeError):
        repeats.merge([*indices[::-1], None], values, 0, 9)
    assert repeats.merge(indices, values, 0, 8) == 7
    assert [*indices[:7]] == [3, 1, 4, 5, 9, 2, 6]


@pytest.mark.parametrize("bits", [10, 30])
@pytest.mark.parametrize("counts", [False, True])
def test_of_more_distinct_words_than_the_first_table_holds_none_is_taken_for_another(bits, counts):
    text = " ".join(f"{number * number:x}" for number in range(4000))
    expected = plain_text_features(text, bits, counts=counts)
    hasher = TextHasher(bits, counts=counts)
    assert [hasher.transform_one(text) for _ in range(2)] == [expected] * 2
