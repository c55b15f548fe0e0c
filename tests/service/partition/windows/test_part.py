"""Windows by key as a part of a partition: what records, labels, snapshots and questions do with them."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import LearnerError
from perceptron_core.formats.packed import pack, unpack
from service.partition.factory import make_processor
from service.partition.parts.kinds import counts_of, with_changes
from tests.service.building import Feed, settings
from tests.service.web.stage import Stage

COUNTS = {"by": "card", "over": ["1h"], "of": {"@event": ["count"]}}
RATES = {
    "by": "card",
    "over": ["1h", "30d"],
    "of": {"@label": "rate", "@event": "count", "amount": "sum,distinct"},
}


def feed(*windows, **given):
    events = {"features": "amount", "windows": [*windows] or [COUNTS], **given.pop("events", {})}
    return Feed(events=events, **given)


def features(fed, value, at_seconds):
    """Return what the windows make of an event, without processing it."""
    message = fed.processor.decoder.decode(json.dumps({"id": "asked", **value}).encode())
    return fed.processor.x_of(message, int(at_seconds * 1000))


def counted(fed, value, at_seconds=100):
    return features(fed, value, at_seconds)["event_count_1h_by_card"]


def windows_of(fed):
    return fed.processor.state()["windows"]


def test_features_are_named_after_field_aggregate_span_and_key():
    fed = feed(
        {"by": "card", "over": ["10m", "1h"], "of": {"amount": ["sum"], "@event": ["seconds_since_last"]}}
    )
    fed({"id": "a", "card": "x", "amount": 3}, at_seconds=100)
    assert features(fed, {"card": "x", "amount": 5}, 160) == {
        "amount": 5,
        "amount_sum_10m_by_card": 3,
        "amount_sum_1h_by_card": 3,
        "event_seconds_since_last_by_card": 60,
    }


def test_event_is_not_in_its_own_window():
    fed = feed({"by": "card", "over": ["1h"], "of": {"amount": "sum"}})
    fed({"id": "a", "card": "x", "amount": 3, "label": True}, at_seconds=100)
    fed({"id": "b", "card": "x", "amount": 5, "label": False}, at_seconds=101)
    assert [step.example.x for step in fed.steps] == [
        {"amount": 3},
        {"amount": 5, "amount_sum_1h_by_card": 3},
    ]
    assert fed.model.weights["amount_sum_1h_by_card"] == -3


@pytest.mark.parametrize("value", [{}, {"card": None}, {"card": ""}, {"card": "-"}])
def test_event_without_a_key_has_no_features_of_windows(value):
    fed = feed(events={"missing": ["-"]})
    assert features(fed, {"amount": 1.0, **value}, 0) == {"amount": 1}
    fed({"id": "a", "amount": 1, **value})
    assert not windows_of(fed)["windows"][0]["keys"]["hashes"]


def test_keys_are_scalars_of_any_length_and_numbers_become_text():
    fed = feed()
    for number, card in enumerate([7, 7.0, "7", True, "true", "x" * 100_000, "x" * 100_001, "ü"]):
        fed({"id": str(number), "card": card, "amount": 1})
    assert [counted(fed, {"card": card}) for card in (7, "true", "x" * 100_000, "ü", "no")] == [3, 2, 1, 1, 0]
    (letter,) = fed({"id": "a", "card": ["x"], "amount": 1})
    assert (letter.topic, dict(letter.headers)["error.reason"]) == ("dead-letters", b"invalid_type")


@pytest.mark.parametrize(
    ("amount", "reason"), [("7", b"invalid_type"), ([1], b"invalid_type"), (1e101, b"out_of_range")]
)
def test_invalid_number_makes_a_dead_letter_and_counts_nothing(amount, reason):
    fed = feed({"by": "card", "over": ["1h"], "of": {"amount": "sum"}}, events={"features": "other"})
    before = pack(windows_of(fed))
    (letter,) = fed({"id": "a", "card": "x", "amount": amount, "other": 1})
    assert dict(letter.headers)["error.reason"] == reason
    assert b"events.windows" in dict(letter.headers)["error.message"]
    assert pack(windows_of(fed)) == before


def test_counted_field_may_have_any_value():
    fed = feed({"by": "card", "over": ["1h"], "of": {"device": "count,distinct"}})
    for number, device in enumerate(["a", "b", "a", None, 7]):
        fed({"id": str(number), "card": "x", "device": device, "amount": 1})
    found = features(fed, {"card": "x"}, 1)
    assert found["device_count_1h_by_card"] == 4
    assert round(found["device_distinct_1h_by_card"]) == 3


def test_keys_and_numbers_may_be_derived():
    fed = feed(
        {"by": "host", "over": ["1h"], "of": {"cents": "sum"}},
        events={"derive": {"host": "host(url)", "cents": "amount * 100"}},
    )
    fed({"id": "a", "url": "https://x.org/a", "amount": 2})
    assert features(fed, {"url": "http://x.org/b", "amount": 1}, 0)["cents_sum_1h_by_host"] == 200


def test_window_feature_replaces_the_records_feature():
    fed = feed(events={"features": "*"})
    assert features(fed, {"event_count_1h_by_card": 9, "card": "x"}, 0)["event_count_1h_by_card"] == 0


def test_labels_count_when_known_at_the_time_of_their_event():
    fed = feed(RATES)
    fed({"id": "a", "card": "x", "amount": 1}, at_seconds=0)
    fed({"id": "b", "card": "x", "amount": 1, "label": False}, at_seconds=1)
    rate = lambda at: features(fed, {"card": "x"}, at).get("label_rate_1h_by_card")  # noqa: E731
    assert rate(10) == 0
    fed({"id": "a", "label": True}, at_seconds=20, topic="labels")
    assert rate(20) == 0.5
    fed({"id": "a", "label": False}, at_seconds=21, topic="labels")  # corrected
    assert rate(21) == 0
    assert rate(3 * 3600) is None
    assert features(fed, {"card": "x"}, 3 * 3600)["label_rate_30d_by_card"] == 0


def test_early_label_counts_with_its_event_unless_a_dead_letter():
    fed = feed(RATES)
    fed({"id": "a", "label": True}, topic="labels")
    fed({"id": "a", "card": "x", "amount": 1})
    fed({"id": "bad", "card": {}, "amount": 1})
    fed({"id": "bad", "label": False}, topic="labels")
    assert features(fed, {"card": "x"}, 0)["label_rate_1h_by_card"] == 1


def test_provisional_label_counts_until_corrected():
    fed = feed(RATES, events={"label_on_timeout": "false"}, label_timeout_seconds=100)
    fed({"id": "a", "card": "x", "amount": 1}, at_seconds=0)
    fed({"id": "b", "card": "y", "amount": 1}, at_seconds=150)
    rate = lambda: features(fed, {"card": "x"}, 150)["label_rate_1h_by_card"]  # noqa: E731
    assert rate() == 0
    fed({"id": "a", "label": True}, at_seconds=160, topic="labels")
    assert rate() == 1


def test_repeated_event_counts_once():
    fed = feed()
    for _ in range(3):
        fed({"id": "a", "card": "x", "amount": 1})
    assert counted(fed, {"card": "x"}) == 1


def test_late_event_counts_at_its_time_if_still_covered():
    fed = feed()
    for number, at_seconds in enumerate([7200, 5400, 10, 7200]):
        fed({"id": str(number), "card": "x", "amount": 1}, at_seconds=at_seconds)
    assert counted(fed, {"card": "x"}, 7200) == 3
    assert counted(fed, {"card": "x"}, 5400) == 1
    assert fed.processor.parts()[-1].counts()["window_events_late"] == 1


def test_windows_use_the_mapped_time():
    fed = feed(events={"timestamp": "at"})
    fed({"id": "a", "card": "x", "amount": 1, "at": 1_700_000_000})
    assert counted(fed, {"card": "x", "amount": 1, "at": 0}, 1_700_000_100) == 1
    (letter,) = fed({"id": "b", "card": "x", "amount": 1})
    assert b"events.timestamp" in dict(letter.headers)["error.message"]


def test_event_rejected_by_the_model_is_not_counted(monkeypatch):
    def reject(_):
        raise LearnerError("no")

    fed = feed()
    before = pack(windows_of(fed))
    monkeypatch.setattr(fed.processor.learner, "assess", reject)
    (letter,) = fed({"id": "a", "card": "x", "amount": 1})
    assert letter.topic == "dead-letters"
    assert pack(windows_of(fed)) == before


def test_event_with_a_key_alone_is_accepted():
    fed = feed()
    assert fed.output_of({"id": "a", "card": "x"})["id"] == "a"
    (letter,) = fed({"id": "b"})
    assert letter.topic == "dead-letters"


events = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from(["x", "y", 7, None]),
        st.floats(-9, 9) | st.none(),
        st.sampled_from([True, False, None]),
        st.integers(-4000, 9000),
        st.booleans(),
    ),
    max_size=30,
)


def records_of(fed, events):
    at_seconds = 20_000
    for event_id, card, amount, label, step, is_label in events:
        at_seconds = max(0, at_seconds + step)
        labelled = {} if label is None else {"label": label}
        if is_label:
            yield fed.record({"id": event_id, **labelled}, at_seconds=at_seconds, topic="labels")
        else:
            value = {"id": event_id, "card": card, "amount": amount, **labelled}
            yield fed.record(value, at_seconds=at_seconds)


@given(
    events, st.lists(st.integers(0, 30), max_size=4), st.sampled_from(["", "false"]),
    st.sampled_from(["perceptron", "auto", "arow"]),
)  # fmt: skip
def test_windows_are_identical_for_any_batches_and_restarts(events, cuts, on_timeout, model):
    given = {
        "events": {
            "features": "amount",
            "windows": [{**RATES, "max_keys": 2}, {**COUNTS, "by": "amount"}],
            "label_on_timeout": on_timeout,
        },
        "label_timeout_seconds": 5000,
        "model": model,
    }
    fed = Feed(**given)
    records = [*records_of(fed, events)]
    whole = [output.value for output in fed.processor.process_batch(records).outputs]
    pieces, processor = [], make_processor(settings(**given))
    for start, end in pairwise([0, *sorted(cuts), len(records)]):
        state = unpack(b"".join(processor.state().iter_chunks()))
        processor = make_processor(settings(**given))
        processor.restore(state)
        pieces += [output.value for output in processor.process_batch(records[start:end]).outputs]
    assert pieces == whole
    assert pack(processor.state()) == pack(fed.processor.state())
    assert counts_of(processor.state()) == {
        name: count for part in processor.parts() for name, count in part.counts().items()
    }


@given(events, st.lists(st.integers(0, 30), max_size=4))
def test_increments_are_the_state_to_the_byte(events, cuts):
    fed = feed({**RATES, "max_keys": 2}, {**COUNTS, "by": "amount"})
    records, states = [*records_of(fed, events)], [unpack(b"".join(fed.processor.state().iter_chunks()))]
    fed.processor.changes()
    for start, end in pairwise([0, *sorted(cuts), len(records)]):
        fed.processor.process_batch(records[start:end])
        changes = fed.processor.parts()[-1].changes()
        states.append({"windows": unpack(b"".join(changes.iter_chunks()))})
        assert counts_of(states[-1]) == fed.processor.parts()[-1].counts()
        assert pack(with_changes(states)["windows"]) == pack(windows_of(fed))


def test_snapshot_without_windows_restores_to_empty_windows():
    fed = feed()
    fed({"id": "a", "card": "x", "amount": 1})
    fed.processor.restore(
        {name: part for name, part in Feed().processor.state().items() if name != "windows"}
    )
    assert counted(fed, {"card": "x"}) == 0


def test_keys_are_kept_with_examples_only_where_labels_are_counted():
    for window, n_fields in ((COUNTS, 8), (RATES, 9)):
        fed = feed(window)
        fed({"id": "a", "card": "x", "amount": 1})
        assert len(fed.processor.state()["join"]["examples"][0]) == n_fields


def test_metrics_count_keys_and_bytes():
    fed = feed()
    fed({"id": "a", "card": "x", "amount": 1})
    found = {figure.metric: figure.value for figure in fed.processor.parts()[-1].metrics()}
    assert (found["window_keys"], found["window_keys_dropped"]) == (1, 0)
    assert found["window_bytes"] > 100


def test_http_prediction_reads_windows_without_change():
    stage = Stage(events={"features": "amount", "timestamp": "at", "windows": [COUNTS]})
    asked = {"id": "q", "card": "x", "amount": 0.0}
    for number in range(3):
        stage(asked | {"id": str(number), "at": 1_700_000_000 + number, "label": number == 2})
    before = pack(stage.feeds[0].processor.state())
    with stage.served() as client:
        scores = [
            client.post("/predict", json={**asked, **at}).json()["score"]
            for at in ({"at": 1_700_000_010}, {"at": 1_600_000_000}, {})
        ]
        terms = client.post("/explain", json={**asked, "at": 1_700_000_010}).json()
    weights = stage.feeds[0].model.weights
    assert weights["event_count_1h_by_card"]
    assert scores[0] - scores[1] == 3 * weights["event_count_1h_by_card"]
    assert scores[1] == scores[2]  # without a time it is the present, when nothing has come for long
    assert "event_count_1h_by_card" in json.dumps(terms)
    assert pack(stage.feeds[0].processor.state()) == before
