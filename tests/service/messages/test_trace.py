"""Trace context goes from an event to everything that is written about it."""

import pytest

from perceptron_core.formats.packed import pack, unpack
from tests.service.building import Feed, event, label

PARENT = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
STATE = ("tracestate", b"vendor=1")
OTHER = ("traceparent", b"00-00000000000000000000000000000001-0000000000000002-01")


@pytest.mark.parametrize(
    "headers",
    [
        (("source", b"web"),),
        (STATE,),
        (("traceparent", b""),),
        (("traceparent", b"x" * 513),),
        (("traceparent", b"00-1\n2"),),
    ],
)
def test_what_is_no_trace_context_is_not_carried_on(headers):
    assert [each.headers for each in Feed()(event("a"), headers=headers)] == [()]


def test_a_prediction_carries_the_trace_context_of_its_event():
    (prediction,) = Feed()(event("a"), headers=(("source", b"web"), STATE, PARENT, OTHER))
    assert prediction.headers == (PARENT, STATE)


@pytest.mark.parametrize(("headers", "carried"), [((PARENT,), (PARENT,)), ((), (OTHER,))])
def test_an_outcome_carries_the_trace_context_of_its_event_or_else_of_its_label(headers, carried):
    feed = Feed()
    feed(event("a"), headers=headers)
    (outcome,) = feed(label("a", True), headers=(OTHER,))
    assert outcome.headers == carried


def test_the_trace_context_of_an_event_that_waits_is_in_the_snapshot():
    first, second = Feed(), Feed()
    first(event("a"), headers=(PARENT, STATE))
    second.processor.restore(unpack(pack(first.processor.state())))
    (outcome,) = second(label("a", True))
    assert outcome.headers == (PARENT, STATE)


def test_a_dead_letter_carries_the_trace_context_of_its_record():
    (letter,) = Feed()(b"junk", headers=(PARENT,))
    assert letter.headers[0] == PARENT
