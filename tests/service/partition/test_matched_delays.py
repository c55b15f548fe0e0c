"""An event without a label is learned as late as labels come, and its outcome waits for its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import AutoClassifier, NormalizedAdaGrad
from perceptron_core.elementary import logistic
from perceptron_core.formats.packed import pack, unpack
from service.partition.examples import Example
from service.partition.matched_delays import MatchedDelays
from service.partition.parts.kinds import with_changes
from tests.service.building import Feed, event, label

TIMEOUT = 100
MODELS = ["perceptron", "normalized-adagrad", "arow", "auto"]


def feed_with(unlabelled="matched", **given):
    events = {"label_on_timeout": "false", "unlabelled": unlabelled}
    return Feed(events=events, **{"label_timeout_seconds": TIMEOUT} | given)


def fed(model, **given):
    """Return a feed in which a label came after 10 s, and an event at 20 s has none."""
    feed = feed_with(model=model, **given)
    feed(event("p", "win"))
    feed(label("p", True), at_seconds=10)
    feed(event("n", "lose"), at_seconds=20)
    return feed


def tick(feed, at_seconds):
    return feed(event(f"tick {at_seconds}", "tick"), at_seconds=at_seconds)


def test_event_is_learned_as_late_as_the_last_matched_label():
    feed, later = fed("perceptron"), fed("perceptron", unlabelled="at_timeout")
    for each in (feed, later):
        tick(each, 32)  # a tenth of the age of the stream is added
    assert feed.counters.labels == later.counters.labels == {"matched": 1}
    updates = [each.processor.learner.updates for each in (feed, later)]
    tick(feed, 33)
    assert [feed.processor.learner.updates, *updates] == [2, 1, 1]
    tick(feed, 20 + TIMEOUT + 1)
    assert feed.counters.labels == {"matched": 1, "timed_out": 1}


def test_early_learning_weighs_by_probability_and_late_labels_by_two():
    feed, model, x = feed_with(model="normalized-adagrad"), NormalizedAdaGrad(), {"text=win": 1.0}
    for name, at, delay in (("p", 0, 10), ("q", 10, 4)):
        feed(event(name, "win"), at_seconds=at)
        feed(label(name, True), at_seconds=at + delay)
        model.learn_one(x, True)
    feed(event("n", "win"), at_seconds=14)
    due = feed.processor.join.examples["n"].due_ms / 1000
    share = {19.4: 0.5, 25.4: 1.0}[due]
    tick(feed, due + 0.001)
    p = logistic(model.score_one(x))
    model.learn_one(x, False, (1 - p) / (1 - p * share))
    assert feed.model.weights["text=win"] == pytest.approx(model.weights["text=win"])
    feed(label("n", True), at_seconds=due + 1)
    model.learn_one(x, True, 2.0)
    assert feed.model.weights["text=win"] == pytest.approx(model.weights["text=win"])
    assert feed.counters.labels == {"matched": 3}


def test_model_with_undo_ends_as_without_early_learning():
    early, late = fed("perceptron"), fed("perceptron", unlabelled="at_timeout")
    for feed in (early, late):
        tick(feed, 40)
        feed(label("n", True), at_seconds=50)
    assert early.model.weights == late.model.weights
    assert early.counters.labels == late.counters.labels == {"matched": 2}


def test_label_after_early_learning_uses_its_context_and_counts_as_such(monkeypatch):
    calls, learn = [], AutoClassifier.learn

    def noting(self, x, truth, w, context, was_early=False):
        calls.append((context, was_early))
        return learn(self, x, truth, w, context, was_early)

    monkeypatch.setattr(AutoClassifier, "learn", noting)
    feed = fed("auto")
    tick(feed, 40)
    feed(label("n", True), at_seconds=50)
    _, (early, _), corrected = calls
    assert corrected == (early, True) != (b"", True)


def test_label_that_agrees_with_early_learning_is_not_learned_again():
    feed = fed("arow")
    tick(feed, 40)
    before = feed.processor.learner.updates
    feed(label("n", False), at_seconds=50)
    assert feed.processor.learner.updates == before
    assert feed.counters.labels == {"matched": 2}


def test_memory_is_bounded_where_events_leave_before_they_are_due():
    delays = MatchedDelays(10**9)
    for number in range(10_000):
        example = Example(f"e{number}", {}, False, 0.0, number)
        delays.schedule(example, number)
        assert [*delays.take_due(number, {example.event_id: example})] == []
    assert len(delays._due) <= 1003


STEPS = st.lists(
    st.tuples(
        st.integers(-20, 40),
        st.one_of(
            st.builds(event, st.sampled_from("abcdefgh"), st.sampled_from(["win", "lose"])),
            st.builds(label, st.sampled_from("abcdefgh"), st.sampled_from([True, True, False])),
        ),
    ),
    max_size=40,
)


@given(STEPS, st.integers(0, 40), st.sampled_from(MODELS), st.sampled_from([2, 100]), st.booleans())
def test_partition_restored_at_any_point_continues_to_the_bit(log, cut, model, capacity, has_increments):
    whole, restored, now = *(feed_with(model=model, max_pending=capacity) for _ in range(2)), 0
    states = [unpack(pack(whole.processor.state()))]
    whole.processor.changes()
    for position, (step, message) in enumerate(log):
        if position == cut // 2 and has_increments and (changes := whole.processor.changes()) is not None:
            states.append(unpack(pack(changes)))
        if position == cut:
            changes = whole.processor.changes() if has_increments else None
            state = unpack(pack(whole.processor.state()))
            if changes is not None:
                state = with_changes([*states, unpack(pack(changes))])
            restored.processor.restore(state)
        now += step
        outputs = whole(message, at_seconds=max(now, 0))
        if position >= cut:
            assert restored(message, at_seconds=max(now, 0)) == outputs
    if len(log) > cut:
        assert pack(restored.processor.state()) == pack(whole.processor.state())
