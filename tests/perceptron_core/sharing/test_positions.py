"""Ascending positions, their gaps and unions."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import DamagedError
from perceptron_core.sharing.positions import from_gaps, places, to_gaps, united

ascending = st.sets(st.integers(0, 200)).map(lambda found: array("i", sorted(found)))


@given(ascending)
def test_gaps_say_where_positions_are(positions):
    assert list(from_gaps(to_gaps(positions), 201)) == list(positions)


@given(ascending, ascending)
def test_a_union_has_every_position_once(one, other):
    assert list(united(one, other)) == sorted({*one, *other})


@given(ascending, ascending)
def test_places_are_where_positions_stand_in_a_union(one, other):
    union = united(one, other)
    assert [union[place] for place in places(union, other)] == list(other)


@pytest.mark.parametrize("gaps", [[-1.0], [3.0], [0.0, 0.0], [1.0, -1.0], [2.0, 1.0], [1.0, 0.5]])
def test_gaps_that_do_not_ascend_below_the_limit_are_damaged(gaps):
    with pytest.raises(DamagedError):
        from_gaps(array("d", gaps), 3)
