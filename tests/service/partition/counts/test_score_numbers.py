import struct
from array import array
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from service.partition.counts.score_numbers import count_numbers


@given(st.lists(st.floats(allow_nan=False), max_size=50))
def test_a_number_is_the_first_15_bits_and_they_are_counted_in_the_order_they_come(scores):
    numbers = [struct.unpack("<q", struct.pack("<d", score + 0.0))[0] >> 49 for score in scores]
    assert count_numbers(array("d", scores)) == [*Counter(numbers).items()]
    assert count_numbers(array("d", scores)) == [*Counter(numbers).items()]  # nothing is left of the first
