"""Payments of which only the fraud is labelled, a month later, are ranked as if all labels came at once."""

import json
from math import exp
from random import Random

import pytest

from service.partition.factory import make_processor
from service.stream.protocol import Record
from tests.service.building import event, label, settings

DAY_MS = 86_400_000
PAYMENTS, DAYS, JUDGED_FROM_DAY = 12_000, 360, 180
DELAY_DAYS = 10, 50
TIMES_OUT = {
    "events": {"label_on_timeout": "false", "unlabelled": "at_timeout"},
    "label_timeout_seconds": 35 * 86_400,
    "label_correction_seconds": 60 * 86_400,
    "max_pending": 100_000,
    "max_pending_bytes": 1 << 30,
}

pytestmark = pytest.mark.slow


def payments():
    """Yield the time, the features and the class of payments, a ninth of which are fraud."""
    random = Random(7)
    for number in range(PAYMENTS):
        amount, age, hour, country = *(random.gauss(0, 1) for _ in range(3)), random.choice("DFUN")
        score = 3 * amount - 3 * age + 2 * hour + 3 * (country == "N") - 7
        is_fraud = random.random() < 1 / (1 + exp(-3 * score))
        x = {"amount": amount, "age": age, "hour": hour, "country": country}
        yield number * DAYS * DAY_MS // PAYMENTS, x, is_fraud


def records(*, at_once):
    """Return the records of the stream: each payment with its label, or chargebacks that come later."""
    random, made = Random(8), []
    for number, (at_ms, x, is_fraud) in enumerate(payments()):
        made.append((at_ms, event(f"p{number}", None, is_fraud if at_once else None, **x)))
        if is_fraud and not at_once:
            made.append((at_ms + int(random.uniform(*DELAY_DAYS) * DAY_MS), label(f"p{number}", True)))
    made.sort(key=lambda each: each[0])
    return [Record("events", 0, n, at, None, json.dumps(m).encode()) for n, (at, m) in enumerate(made)]


def average_precision(outputs):
    """Return that of the payments after the delay has passed, by the scores that were predicted."""
    answers = [json.loads(output.value) for output in outputs]
    scores = {answer["id"]: answer["score"] for answer in answers if "score" in answer}
    judged = [
        (scores[f"p{number}"], is_fraud)
        for number, (at_ms, _, is_fraud) in enumerate(payments())
        if at_ms >= JUDGED_FROM_DAY * DAY_MS
    ]
    judged.sort(reverse=True)
    found, total = 0, 0.0
    for rank, (_, is_fraud) in enumerate(judged, start=1):
        found += is_fraud
        total += is_fraud * found / rank
    return total / found


@pytest.mark.parametrize("model", ["perceptron", "normalized-adagrad"])
def test_average_precision_is_within_three_percent_of_labels_at_once(model):
    whole = make_processor(settings(model=model))
    late = make_processor(settings(model=model, **TIMES_OUT))
    expected = average_precision(whole.process_batch(records(at_once=True)).outputs)
    assert average_precision(late.process_batch(records(at_once=False)).outputs) >= 0.97 * expected
    labels = late.counters.labels
    assert min(labels["matched"], labels["corrected"]) > 100
    assert labels.keys() == {"matched", "timed_out", "corrected"}
