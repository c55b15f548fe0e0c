"""Payments of which only the fraud is labelled, a month later, are ranked as if all labels came at once."""

import json
from functools import cache
from math import exp
from random import Random

import pytest
from sklearn.metrics import average_precision_score

from service.partition.factory import make_processor
from service.stream.protocol import Record
from tests.service.building import event, label, settings

DAY_MS = 86_400_000
PAYMENTS, DAYS, JUDGED_FROM_DAY = 12_000, 360, 180
DELAY_DAYS = 10, 50
TIMES_OUT = {
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


def records(*, at_once, later_delays=1.0, revoked=0.0):
    """Return each payment with its label, or the chargebacks that come later.

    From the middle on, delays are `later_delays` times as long; some of the honest payments are charged back
    as well, and the chargeback is revoked five days later.
    """
    random, revocations, made = Random(8), Random(9), []
    for number, (at_ms, x, is_fraud) in enumerate(payments()):
        made.append((at_ms, event(f"p{number}", None, is_fraud if at_once else None, **x)))
        if not at_once and (is_fraud or revocations.random() < revoked):
            times = later_delays if at_ms > JUDGED_FROM_DAY * DAY_MS else 1.0
            late_ms = at_ms + int(random.uniform(*DELAY_DAYS) * times * DAY_MS)
            made.append((late_ms, label(f"p{number}", True)))
            if not is_fraud:
                made.append((late_ms + 5 * DAY_MS, label(f"p{number}", False)))
    made.sort(key=lambda each: each[0])
    return [Record("events", 0, n, at, None, json.dumps(m).encode()) for n, (at, m) in enumerate(made)]


def average_precision(outputs):
    """Return that of the payments after the delay has passed, by the scores that were predicted."""
    predictions = [json.loads(output.value) for output in outputs]
    scores = {prediction["id"]: prediction["score"] for prediction in predictions if "score" in prediction}
    judged = {f"p{n}": y for n, (at_ms, _, y) in enumerate(payments()) if at_ms >= JUDGED_FROM_DAY * DAY_MS}
    return average_precision_score([*judged.values()], [scores[each] for each in judged])


@cache
def average_precision_at_once(model):
    processor = make_processor(settings(model=model))
    return average_precision(processor.process_batch(records(at_once=True)).outputs)


@pytest.mark.parametrize(
    ("model", "unlabelled", "given", "least"),
    [
        ("perceptron", "at_timeout", {}, 0.97),
        ("normalized-adagrad", "at_timeout", {}, 0.97),
        ("perceptron", "matched", {}, 0.97),
        ("auto", "matched", {}, 0.97),
        ("auto", "matched", {"later_delays": 0.5}, 0.97),
        ("auto", "matched", {"later_delays": 1.8}, 0.92),  # most come after the timeout
        ("auto", "matched", {"revoked": 0.02}, 0.97),
    ],
)
def test_chargebacks_rank_payments_nearly_as_labels_at_once(model, unlabelled, given, least):
    events = {"label_on_timeout": "false", "unlabelled": unlabelled}
    late = make_processor(settings(model=model, events=events, **TIMES_OUT))
    outputs = late.process_batch(records(at_once=False, **given)).outputs
    assert average_precision(outputs) >= least * average_precision_at_once(model)
    labels = late.counters.labels
    assert min(labels["matched"], labels["corrected"]) > 100
    assert labels.keys() - {"rejected"} == {"matched", "timed_out", "corrected"}
