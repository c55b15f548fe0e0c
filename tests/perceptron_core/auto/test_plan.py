"""How the delay of labels decides which mixers of `AutoClassifier` are in use."""

import random
import struct
from array import array
from operator import mul

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import AutoClassifier, DamagedError, from_bytes, to_bytes
from perceptron_core.auto.rule import HEADER
from perceptron_core.formats.packed import pack, seal, unpack, unseal
from perceptron_core.mixing.mixer import LABEL_HISTORY
from tests.perceptron_core.auto.laws import KINDS, check_explanations_add_up, mistakes, taught
from tests.support.example_counts import n_examples

LAST_LABELS, FOR_LATE = "mixture with the last labels", "mixture for late labels"


def runs(n, n_classes=2, seed=1):
    """Make events whose class is mostly that of the event before."""
    draw, y = random.Random(seed), 0
    for _ in range(n):
        y = y if draw.random() < 0.95 else draw.randrange(n_classes)
        yield {"a": draw.gauss(0, 1) + 0.3 * y, "b": draw.gauss(0, 1)}, KINDS[n_classes][y]


def delayed(model, events, delay):
    """Let a model predict events, and learn each when its label comes; return the mistakes."""
    wrong, waiting = 0, []
    for x, y in events:
        wrong += model.predict_one(x) != y
        waiting.append((x, y, 1.0, model.prediction_context()))
        if len(waiting) > delay:
            model.learn_one(*waiting.pop(0))
    for each in waiting:
        model.learn_one(*each)
    return wrong


def led_by(model):
    return model.candidates[model.leader]


@pytest.mark.parametrize("n_classes", KINDS)
def test_immediate_labels_inform_the_next_prediction(n_classes):
    model, low = AutoClassifier(), AutoClassifier(effort="low")
    events = [*runs(1500, n_classes)]
    assert mistakes(model, events) < 0.8 * mistakes(low, events)
    assert led_by(model) == LAST_LABELS


def test_last_labels_are_unused_until_1000_labels_are_prompt():
    model = taught(AutoClassifier(), runs(300))
    assert led_by(model) == LAST_LABELS
    delayed(model, runs(66), 65)
    assert led_by(model) != LAST_LABELS
    taught(model, runs(998))
    assert (led_by(model) == LAST_LABELS, model.lead.is_prompt()) == (False, False)
    taught(model, runs(400))
    assert led_by(model) == LAST_LABELS


def test_late_label_class_is_known_from_the_first_event():
    model = AutoClassifier()
    said = [(x, y, 1.0, model.prediction_context()) for x, y in runs(66) if model.predict_one(x) is None]
    for each in said[:-1]:
        model.learn_one(*each)
        assert model.lead.is_prompt()
    model.learn_one(*said[-1])
    assert not model.lead.is_prompt()


@pytest.mark.parametrize("n_classes", KINDS)
def test_slightly_late_labels_still_inform_the_next(n_classes):
    model, low = AutoClassifier(), AutoClassifier(effort="low")
    events = [*runs(3000, n_classes)]
    assert delayed(model, events, 3) < 0.9 * delayed(low, events, 3)
    assert led_by(model) == LAST_LABELS


def test_mixers_learn_with_their_inputs_at_prediction():
    model = taught(AutoClassifier(), runs(200))
    ((x, y), *others) = runs(10, seed=2)
    model.predict_one(x)
    memo = array("d", model.prediction_context())
    taught(model, others)
    learned = set()
    for factor in (1.0, -1.0):
        for k in range(-5, -1):
            memo[k] *= factor
        again = from_bytes(to_bytes(model))
        again.learn_one(x, y, 1.0, memo.tobytes())
        learned.add(tuple(again.ensembles[0].mixers[-1].weights))
    assert len(learned) == 2


def test_learners_are_evaluated_on_their_original_predictions():
    model, waiting, wrong = AutoClassifier(), [], {}
    for x, y in runs(1500):
        model.predict_one(x)
        said = array("d", model.prediction_context())
        waiting.append((x, y, 1.0, said.tobytes(), [score > 0 for score in said[4 : 4 + int(said[1])]]))
        if len(waiting) > 20:
            *learned, predictions = waiting.pop(0)
            model.learn_one(*learned)
            for name, prediction in zip(model.ensembles[0].names, predictions, strict=False):
                wrong[name] = wrong.get(name, 0) + (prediction != learned[1])
    counted = {each.name: each.mistakes for each in model.experts}
    assert {name: counted[name] - n for name, n in wrong.items() if abs(counted[name] - n) > 1} == {}


def state_after(*weights):
    """Return the state of a model whose last label has a weight, and perhaps a context, and was early."""
    model = taught(AutoClassifier(), runs(100))
    model.learn({"a": 1.0, "b": 0.0}, True, *weights)
    return model._get_state()


def test_label_after_early_learning_weighs_learners_but_not_mixers():
    early, once, twice = state_after(1.0, b"", True), state_after(1.0), state_after(2.0)
    assert early["losses"] == once["losses"]
    (early,), (once,), (twice,) = (each["ensembles"] for each in (early, once, twice))
    assert early["mixers"] == once["mixers"] != twice["mixers"]
    assert early["rules"] == twice["rules"] != once["rules"]


def test_losses_of_candidates_count_a_weight_at_most_once():
    none, half, once, twice = (state_after(weight)["losses"] for weight in (1e-9, 0.5, 1.0, 2.0))
    assert half == pytest.approx([sum(each) / 2 for each in zip(none, once, strict=True)])
    assert twice == once != none


def test_shortened_context_keeps_the_prediction_time():
    model = taught(AutoClassifier(), runs(50))
    ((x, y),) = runs(1, seed=2)
    model.predict_one(x)
    memo = model.prediction_context(64)
    assert len(memo) <= 64
    one, two = from_bytes(to_bytes(model)), model
    one.learn_one(x, y, 1.0, memo)
    two.learn_one(x, y)
    assert to_bytes(one) == to_bytes(two)
    one.learn_one(x, y, 1.0, memo)
    assert not one.lead.is_prompt()


@pytest.mark.parametrize("delay", [0, 70])
@pytest.mark.parametrize("n_classes", KINDS)
def test_prediction_is_the_weighted_sum_of_candidates(n_classes, delay):
    model = AutoClassifier(classes=KINDS[n_classes])
    delayed(model, runs(200, n_classes), delay)
    for x, _ in runs(5, n_classes, seed=2):
        log_odds = model.log_odds(x)
        said = struct.unpack(f"{len(model.prediction_context()) // 8}d", model.prediction_context())
        n, n_candidates = map(int, said[1:3])
        end = HEADER + int(said[0]) * (n + n_candidates)
        weights = said[end : end + n_candidates]
        rows = [said[at + n : at + n + n_candidates] for at in range(HEADER, end, n + n_candidates)]
        predictions = [sum(map(mul, row, weights)) for row in rows]
        assert log_odds[-len(predictions) :] == pytest.approx(predictions)
        assert sum(weight > 0 for weight in weights) > (2 if delay else 0)


@settings(max_examples=n_examples(20))
@given(
    delays=st.lists(st.sampled_from([0, 1, 7, 69]), min_size=1, max_size=6), n_classes=st.sampled_from([2, 3])
)
def test_model_from_bytes_continues_at_any_label_delay(delays, n_classes):
    model = again = AutoClassifier()
    for number, delay in enumerate(delays):
        events = [*runs(70, n_classes, seed=number)]
        again = from_bytes(to_bytes(again))
        assert delayed(again, events, delay) == delayed(model, events, delay)
        assert to_bytes(again) == to_bytes(model)


@pytest.mark.parametrize("n_classes", KINDS)
def test_explanation_contains_the_last_labels(n_classes):
    model = taught(AutoClassifier(), runs(600, n_classes))
    assert led_by(model) == LAST_LABELS
    check_explanations_add_up(model, runs(10, n_classes, seed=4), lambda names: LABEL_HISTORY in names)


@pytest.mark.parametrize("n_classes", KINDS)
def test_explanations_add_up_where_labels_come_late(n_classes):
    model = AutoClassifier()
    delayed(model, runs(300, n_classes), 5)
    check_explanations_add_up(model, runs(10, n_classes, seed=4), lambda names: LABEL_HISTORY not in names)


@pytest.mark.parametrize("history", [[0.5] * 3, [2.0] * 4, "x", None])
def test_altered_history_is_rejected(history):
    version, body = unseal(b"perceptron-model", range(1, 3), to_bytes(taught(AutoClassifier(), runs(5))))
    *content, state = unpack(body)
    altered = [{**each, "history": history} for each in state["ensembles"]]
    data = pack([*content, {**state, "ensembles": altered}])
    with pytest.raises(DamagedError):
        from_bytes(seal(b"perceptron-model", version, data))
