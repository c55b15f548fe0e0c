"""A histogram counts each value once, in the bucket whose edge it does not exceed."""

from array import array
from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from service.monitoring.buckets import Buckets

EDGES = (-1.0, 0.0, 1.0, 2.0)
values = st.lists(st.floats(-3, 3) | st.sampled_from(EDGES))


def samples(buckets):
    return {sample.labels.get("le", sample.name): sample.value for sample in buckets.family("x", "x").samples}


@given(values)
def test_many_values_are_counted_as_each_of_them(found):
    one, many = Buckets(EDGES), Buckets(EDGES)
    for value in found:
        one.observe(value)
    many.observe_all(array("d", found))
    assert samples(many) == samples(one)


@given(values)
def test_a_bucket_has_the_values_up_to_its_edge(found):
    buckets = Buckets(EDGES)
    buckets.observe_all(array("d", found))
    shown = samples(buckets)
    assert [shown[repr(edge)] for edge in EDGES] == [sum(each <= edge for each in found) for edge in EDGES]
    assert shown["+Inf"] == len(found)


def test_a_value_that_occurs_again_counts_as_often():
    buckets = Buckets(EDGES)
    buckets.observe(0.5, times=3)
    assert samples(buckets)[repr(EDGES[bisect_left(EDGES, 0.5)])] == 3
