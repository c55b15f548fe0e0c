"""A histogram counts each value once, in the bucket whose edge it does not exceed."""

import math

from service.monitoring.buckets import Buckets


def test_a_value_on_the_edge_belongs_to_the_bucket_below():
    buckets = Buckets((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.5):
        buckets.observe(value)
    samples = {s.labels.get("le"): s.value for s in buckets.family("x", "x").samples if s.name == "x_bucket"}
    assert samples == {"1.0": 2, "2.0": 3, "+Inf": 4}
    assert math.isclose(buckets._sum, 5.5)


def test_many_values_are_counted_as_each_of_them():
    one, many = Buckets((1.0, 2.0)), Buckets((1.0, 2.0))
    for value in (0.5, 1.5, 1.5):
        one.observe(value)
    many.observe_all([0.5])
    many.observe(1.5, times=2)
    assert (many._counts, many._sum) == (one._counts, one._sum)
