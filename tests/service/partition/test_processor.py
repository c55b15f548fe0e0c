import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import to_bytes
from perceptron_core.formats.packed import pack, unpack
from service.models.registry import make_learner
from tests.service.building import Feed, event, label, values_of
from tests.service.poison import MAX_MESSAGE_BYTES, POISON


def test_event_is_predicted_before_learning():
    feed = Feed()
    prediction = feed.output_of(event("a", "win", label=True))
    first = {"id": "a", "label": False, "score": 0.0, "updates": 0, "truth": True, "mistake": True}
    assert prediction.items() >= first.items()
    second = {"id": "b", "label": True, "score": 2.0, "updates": 1}
    assert feed.output_of(event("b", "win")).items() >= second.items()


@pytest.mark.parametrize("hash_bits", [0, 12])
@pytest.mark.parametrize("model", ["auto", "normalized-adagrad", "coin-betting", "bayesian-logistic"])
def test_log_odds_prediction_has_the_probability_of_the_model(model, hash_bits):
    feed = Feed(model=model, hash_bits=hash_bits)
    feed(event("a", "win", label=True), topic="events")
    feed(event("b", "lose", label=False))
    for number, text in enumerate(("win", "lose", "win lose")):
        expected = feed.model.predict_proba_one(feed.processor._extractor.extract({}, text))
        output = feed.output_of(event(f"q-{number}", text))
        assert output["probability"] == pytest.approx(expected[output["label"]], abs=1e-15)


def test_multiclass_probability_belongs_to_the_predicted_class():
    feed = Feed(model="auto", classes=("sky", "sea", "sand"))
    for number, name in enumerate(("sky", "sea", "sand") * 4):
        feed(event(str(number), f"of the {name}", label=name))
    expected = feed.model.predict_proba_one({"text": "the sea"})
    output = feed.output_of(event("q", "the sea"))
    assert output["label"] == "sea"
    assert output["probability"] == pytest.approx(expected["sea"], abs=1e-9)


def test_calibration_counts_immediate_predictions_and_late_labels_apart():
    feed = Feed(model="coin-betting")
    feed(event("a", "win", label=True))
    later = feed.output_of(event("b", "win"))
    feed(label("b", True), at_seconds=5, topic="labels")
    assert feed.counters.calibration.correct[int(later["probability"] * 15)] >= 1
    losses = [math.log(2), -math.log(later["probability"])]
    assert feed.counters.calibration.log_loss() == pytest.approx(sum(losses) / 2)


def test_output_has_its_event_time_and_the_time_of_writing():
    feed = Feed()
    (prediction,) = feed(event("a"), at_seconds=12.5, key=b"chosen")
    (outcome,) = feed(label("a", True), at_seconds=20)
    for output in (prediction, outcome):
        assert (output.topic, output.key, output.timestamp_ms) == ("predictions", b"a", None)
        assert json.loads(output.value)["event_time_ms"] == 12_500


@pytest.mark.parametrize(("value", "reason"), POISON.values(), ids=POISON)
def test_invalid_record_becomes_a_dead_letter_with_reason_and_origin(value, reason):
    feed = Feed(max_message_bytes=MAX_MESSAGE_BYTES)
    feed(event("good", label=True))
    weights = dict(feed.model.weights)
    (letter,) = feed(value, key=b"\xff", headers=(("trace", b"1"),))
    assert (letter.topic, letter.key, letter.value) == ("dead-letters", b"\xff", value)
    headers = dict(letter.headers)
    assert 0 < len(headers.pop("error.message")) <= 500
    assert headers == {
        "trace": b"1",
        "error.reason": reason.encode(),
        "source.topic": b"events",
        "source.partition": b"0",
        "source.offset": b"1",
        "source.timestamp": b"0",
    }
    assert feed.model.weights == weights
    assert feed.counters.rejected == {reason: 1}
    assert feed.counters.predictions == 1


def test_overflowing_score_makes_only_a_dead_letter():
    feed = Feed(hash_bits=1)
    features = {str(n): 1e100 for n in range(10)}
    (letter,) = feed({"id": "a", "features": features, "label": True})
    assert dict(letter.headers)["error.reason"] == b"out_of_range"
    assert (feed.model.weights, feed.counters.predictions, feed.processor.join.n_pending_labels) == ({}, 0, 0)


@pytest.fixture
def sulky(tmp_path):
    """Return a processor whose model raises on some words: of an event, or of what it learns."""
    path = tmp_path / "sulky.py"
    path.write_text(SULKY, encoding="utf-8")
    return Feed(model=f"{path}:Sulky")


SULKY = """
class Sulky:
    def __init__(self):
        self.learned = []

    def predict_proba_one(self, x):
        if "text=bad" in x:
            raise ValueError("I do not like it")
        return {True: 1.0}

    def learn_one(self, x, y):
        if "text=worse" in x:
            raise RuntimeError("too late")
        self.learned.append(y)
"""


def reasons(outputs):
    return [dict(output.headers).get("error.reason") for output in outputs]


@pytest.mark.parametrize("word", ["bad", "worse"])
def test_failing_event_becomes_only_a_dead_letter(sulky, word):
    sulky(event("a", "good", label=True))
    (letter,) = sulky(event("b", word, label=True))
    headers = dict(letter.headers)
    assert headers["error.reason"] == b"model_error"
    assert b"Error: " in headers["error.message"]
    assert b"(sulky.py:" in headers["error.message"]
    assert (sulky.counters.predictions, sulky.counters.labelled) == (1, 1)
    assert sulky.counters.rejected == {"model_error": 1}
    assert sulky.model.learned == [True]
    assert sulky.processor.join.examples.get("b") is None


def test_failing_label_leaves_its_event_pending(sulky):
    sulky(event("a", "worse"))
    assert reasons(sulky(label("a", True))) == [b"model_error"]
    assert sulky.processor.join.n_pending_labels == 1
    assert sulky.counters.labels == {}


def test_early_label_is_kept_when_its_event_fails(sulky):
    sulky(label("a", True))
    assert reasons(sulky(event("a", "worse"))) == [b"model_error"]
    assert sulky.output_of(event("a", "good"))["truth"] is True


def test_late_label_is_learned_on_its_events_features():
    feed = Feed()
    feed(event("a", "win"), at_seconds=1)
    feed(event("b", "lose", label=True), at_seconds=2)
    assert feed.output_of(label("a", True), at_seconds=4.5, topic="labels") == {
        "id": "a",
        "label": True,
        "predicted": False,
        "mistake": True,
        "label_delay_seconds": 3.5,
        "event_time_ms": 1000,
    }
    assert feed.counters.labels["matched"] == 1
    assert feed.processor.join.n_pending_labels == 0


AGAIN = {
    "its label": ([event("a", "win"), label("a", True), label("a", True)], {"matched": 1, "duplicate": 1}),
    "its event, with a label": ([event("a", "win"), event("a", "other", label=True)], {}),
    "a label of its own after an early one": (
        [label("a", False), event("a", "win", label=True)],
        {"corrected": 1},
    ),
    "early labels, of which the last counts": (
        [label("a", True), label("a", True), label("a", False), label("a", True), event("a", "win")],
        {"duplicate": 1, "corrected": 2, "matched": 1},
    ),
}


@pytest.mark.parametrize("case", AGAIN)
def test_repeated_event_or_label_is_learned_once(case):
    messages, counted = AGAIN[case]
    feed = Feed()
    for message in messages:
        feed(message)
    assert feed.model.weights == {"text=win": 1.0}
    assert (feed.model.n_updates, feed.counters.labels) == (1, counted)


def test_labels_without_pending_event_are_late_or_orphaned():
    feed = Feed(label_timeout_seconds=10)
    feed(event("a"), at_seconds=0)
    feed(label("unknown", True), at_seconds=1)
    feed(event("b"), at_seconds=20)
    feed(label("a", True), at_seconds=21)
    assert feed.counters.labels == {"late": 1, "orphan": 1}
    assert feed.model.n_updates == 0


def test_update_of_a_replaced_model_is_never_undone():
    feed, other = Feed(), Feed()
    feed(event("a", "win", label=True))
    other(event("b", "other", label=False))
    feed.processor.replace_model(other.processor.learner.dump())
    feed(label("a", False))
    assert feed.model.weights == other.model.weights


def test_outputs_have_the_label_values_of_the_stream():
    feed = Feed()
    assert feed.output_of(event("a", label=-1))["truth"] == -1
    assert feed.output_of(event("b"))["label"] == -1
    named = Feed(classes="ham,spam")
    assert named.output_of(event("a"))["label"] == "ham"
    assert named.output_of(event("b", label="spam"))["truth"] == "spam"


@pytest.mark.parametrize("at_seconds", [3600.001, 3 * 3600, 80_000 * 366 * 86_400, -0.001, -(2**53) / 1000])
def test_event_time_out_of_range_advances_no_clock(at_seconds):
    feed = Feed(label_timeout_seconds=10)
    feed(event("a", "win"), processing_time_ms=0)
    before = pack(feed.processor.state()["join"])
    (letter,) = feed(event("b", "win", label=True), processing_time_ms=0, at_seconds=at_seconds)
    headers = dict(letter.headers)
    assert headers["error.reason"] == b"event_time_out_of_range"
    assert int(headers["source.timestamp"]) == int(at_seconds * 1000)
    assert letter.timestamp_ms is None
    assert pack(feed.processor.state()["join"]) == before
    assert feed.processor.learner.updates == 0


@pytest.mark.parametrize(
    ("at_seconds", "processing_time_ms"), [(3600, 0), (0, 10**12), (80_000 * 366 * 86_400, None)]
)
def test_event_time_within_the_bound_or_without_clock_is_accepted(at_seconds, processing_time_ms):
    output = Feed().output_of(event("a"), at_seconds=at_seconds, processing_time_ms=processing_time_ms)
    assert output["id"] == "a"


def test_observer_sees_every_labelled_prediction_in_order():
    feed = Feed()
    feed(event("a", "win"), at_seconds=0)
    feed(event("b", "win", label=True), at_seconds=1)
    feed(label("a", False), at_seconds=2)
    assert values_of(feed.steps) == [
        ("b", {"text=win": 1.0}, 0.0, False, True, 1, None, False),
        ("a", {"text=win": 1.0}, 0.0, False, False, 2, 2.0, False),
    ]
    assert [each.mistake for each in feed.steps] == [True, False]


messages = st.one_of(
    st.builds(
        event,
        st.sampled_from("abcd"),
        st.sampled_from(["", "win", "lose win"]),
        st.sampled_from([None, True, False, 1, 0, -1]),
    ),
    st.builds(label, st.sampled_from("abcde"), st.sampled_from([True, False, 1, 0, -1])),
    st.sampled_from([b"junk", None]),
)
logs = st.lists(st.tuples(messages, st.integers(0, 30)), max_size=40)


@given(logs, st.integers(1, 41), st.sampled_from(["perceptron", "normalized-adagrad"]))
def test_batch_equals_its_records_one_by_one(log, size, model):
    one, many = (Feed(model=model, label_timeout_seconds=10, max_pending=2) for _ in range(2))
    outputs = [output for value, at in log for output in one(value, at_seconds=at)]
    records = [many.record(value, at_seconds=at) for value, at in log]
    batches = [records[start : start + size] for start in range(0, len(records), size)]
    processed = [many.processor.process_batch(batch) for batch in batches]
    assert [output for batch in processed for output in batch.outputs] == outputs
    assert pack(many.processor.state()) == pack(one.processor.state())
    assert values_of(many.steps) == values_of(one.steps)
    for batch, (written, dead_letters) in zip(batches, processed, strict=True):
        assert [letter for _, letter in dead_letters] == [o for o in written if o.topic == "dead-letters"]
        for position, letter in dead_letters:
            assert dict(letter.headers)["source.offset"] == str(batch[position].offset).encode()


HUGE = " ".join(f"w{n}" for n in range(5000))


@pytest.mark.parametrize("given", [{}, {"hash_bits": 18}, {"text_values": "counts", "normalize": "l2"}])
def test_packed_example_is_learned_like_an_immediate_one(given):
    late, along = Feed(**given), Feed(**given)
    along(event("a", HUGE, label=True))
    late(event("a", HUGE))
    late(label("a", True))
    assert late.processor.learner.dump() == along.processor.learner.dump()
    for feed in (late, along):
        feed(label("a", False))
    assert late.processor.learner.dump() == along.processor.learner.dump()
    assert late.counters.labels == {"matched": 1, "corrected": 1}


def late_stream(feed, events):
    """Feed texts whose labels come ten events later."""
    for number in range(events.start, events.stop):
        feed(event(f"e-{number}", "win a prize" if number % 3 else "see you", size=float(number % 7)))
        if number >= 10:
            feed(label(f"e-{number - 10}", (number - 10) % 3 > 0))


def test_late_labels_are_learned_with_the_context_of_the_prediction():
    feed, model, waiting = Feed(model="auto"), make_learner("auto", {}).model, []
    late_stream(feed, range(100))
    for number in range(100):
        x = {"size": float(number % 7), "text": "win a prize" if number % 3 else "see you"}
        model.predict_one(x)
        waiting.append((x, number % 3 > 0, 1.0, model.prediction_context()))
        if number >= 10:
            model.learn_one(*waiting.pop(0))
    assert to_bytes(feed.model) == to_bytes(model)


def test_prediction_context_of_pending_events_is_in_the_snapshot():
    whole, first, second = (Feed(model="auto") for _ in range(3))
    late_stream(whole, range(60))
    late_stream(first, range(35))
    second.processor.restore(unpack(pack(first.processor.state())))
    late_stream(second, range(35, 60))
    assert second.model.n_updates == 50
    assert to_bytes(second.model) == to_bytes(whole.model)


def test_long_context_of_many_classes_is_computed_at_the_label():
    feed = Feed(model="auto", classes=tuple(f"class-{number}" for number in range(40)))
    feed(event("a", "win", label="class-1"))
    feed(event("b", "win"))
    assert len(feed.processor.join.examples["b"].step) < 100  # when it was said, no more
    feed(label("b", "class-2"))
    assert feed.model.n_updates == 2


def test_skipped_record_is_counted_and_writes_nothing():
    feed = Feed(events={"where": "n"}, labels={"where": "label"})
    outputs = feed({"id": "a"}, topic="events") + feed({"id": "b", "label": None}, topic="labels")
    assert (outputs, feed.counters.predictions) == ((), 0)
    assert feed.counters.skipped == {"events": 1, "labels": 1}
    restored = Feed(events={"where": "n"})
    restored.processor.restore(feed.processor.state())
    assert restored.counters.skipped == feed.counters.skipped
    assert "skipped" in feed.counters.counts()


def test_state_has_no_fields_of_settings_not_in_use():
    feed = Feed()
    feed(event("a", label=True))
    output = feed.output_of(event("b"))
    state = feed.processor.state()
    assert not {*state, *output} & {"windows", "drift", "decisions", "decision"}
    assert {len(fields) for fields in state["join"]["examples"]} == {8}
    assert not {*feed.counters.counts()} & {"assumed", "evicted", "known_mistakes", "skipped"}
