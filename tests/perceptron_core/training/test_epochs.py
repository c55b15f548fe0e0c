"""Training is epochs of the online loop: in a known order, ended for a known reason, the same each time."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import base, datasets

import perceptron_core
from perceptron_core import (
    FeatureError,
    LabelError,
    Perceptron,
    hold_out,
    perceptron_test,
    perceptron_train,
    to_bytes,
)

points = st.dictionaries(st.sampled_from("abc"), st.integers(-8, 8), max_size=3)
examples = st.lists(st.tuples(points, st.booleans()), min_size=1, max_size=12)
AND = [({"a": a, "b": b}, bool(a and b)) for a in (0, 1) for b in (0, 1)]
XOR = [({"a": a, "b": b}, a != b) for a in (0, 1) for b in (0, 1)]
PHISHING = list(datasets.Phishing())


class Recorder(Perceptron):
    """Remembers in which order it learned."""

    seen: list

    def clone(self, *arguments, **keywords):
        recorder = super().clone(*arguments, **keywords)
        recorder.seen = self.seen
        return recorder

    def learn_one(self, x, y, w=1.0):
        self.seen.append(x["n"])
        super().learn_one(x, y, w)


def numbered(n):
    return [({"n": float(i)}, i % 2 == 0) for i in range(n)]


def order_of(n, epochs, order, seed=0, **options):
    """Return the examples drawn, epoch by epoch."""
    recorder = Recorder()
    recorder.seen = []
    perceptron_train(
        numbered(n), epochs, learner=recorder, order=order, seed=seed, stop_on_convergence=False, **options
    )
    return [recorder.seen[start : start + n] for start in range(0, len(recorder.seen), n)]


@given(examples, st.integers(1, 4), st.booleans())
def test_constant_order_equals_epochs_of_learn_one(data, epochs, tie):
    learner = Perceptron(tie=tie)
    training = perceptron_train(data, epochs, learner=learner, order="constant", stop_on_convergence=False)
    for _ in range(epochs):
        for x, y in data:
            learner.learn_one(x, y)
    assert to_bytes(training.model) == to_bytes(learner)
    assert training.epochs == epochs
    assert (training.updates, training.mistakes) == (learner.n_updates, learner.n_mistakes)


@given(st.integers(1, 30), st.integers(0, 9))
def test_shuffling_draws_every_example_once_each_epoch(n, seed):
    for epoch in order_of(n, 3, "shuffle", seed):
        assert Counter(epoch) == Counter(range(n))


def test_random_draws_come_with_replacement():
    first, second = order_of(50, 2, "random")
    assert len(first) == len(second) == 50
    assert max(Counter(first).values()) > 1
    assert first != second


@given(
    examples, st.sampled_from(["shuffle", "random"]), st.sampled_from(["zero", "random"]), st.integers(0, 99)
)
def test_same_seed_gives_the_same_result(data, order, start, seed):
    one, other = (perceptron_train(data, 3, order=order, start=start, seed=seed) for _ in range(2))
    assert to_bytes(one.model) == to_bytes(other.model)
    assert one.curve == other.curve


def test_given_learner_stays_unchanged():
    learner = Perceptron(learning_rate=2.0)
    training = perceptron_train(AND, learner=learner)
    assert to_bytes(learner) == to_bytes(Perceptron(learning_rate=2.0))
    assert training.model.learning_rate == 2.0


@pytest.mark.parametrize("order", ["shuffle", "constant"])
def test_stops_after_an_epoch_without_an_update(order):
    training = perceptron_train(AND, 100, order=order)
    assert (training.converged, training.stopped) == (True, "converged")
    assert [epoch.updates > 0 for epoch in training.curve] == [True] * (training.epochs - 1) + [False]
    assert training.curve[-1].mistakes == training.curve[-1].training_error == 0


def test_does_not_converge_on_inseparable_examples():
    training = perceptron_train(XOR, 30)
    assert (training.converged, training.stopped, training.epochs) == (False, "max_iter", 30)
    assert training.best_epoch == 30


def test_draws_with_replacement_prove_no_convergence():
    assert perceptron_train([({"a": 1}, True)], 5, order="random").stopped == "max_iter"


@given(examples, st.data())
def test_weight_means_the_same_as_in_learn_one(data, drawn):
    weights = drawn.draw(st.lists(st.integers(0, 3).map(float), min_size=len(data), max_size=len(data)))
    by_hand = Perceptron()
    for (x, y), w in zip(data, weights, strict=True):
        by_hand.learn_one(x, y, w)
    trained = perceptron_train(data, 1, order="constant", weights=weights).model
    assert to_bytes(trained) == to_bytes(by_hand)


def test_there_is_a_weight_for_each_example():
    with pytest.raises(ValueError, match="weights: expected one for each of 4 examples, got 2"):
        perceptron_train(AND, weights=[1.0, 1.0])


@pytest.mark.parametrize("order", ["shuffle", "constant", "random"])
def test_training_stops_within_an_epoch_after_the_quiet_draws(order):
    training = perceptron_train(AND, 1000, order=order, quiet_draws=11, stop_on_convergence=False)
    assert training.stopped == "quiet"
    assert training.curve[-1].draws <= 4
    assert [epoch.draws for epoch in training.curve[:-1]] == [4] * (training.epochs - 1)
    assert sum(epoch.draws for epoch in training.curve) >= 11
    if order == "constant":
        assert training.curve[-1].training_error == 0


def test_random_start_depends_on_the_seed_and_converges():
    starts = [perceptron_train(AND, 1000, start="random", seed=seed) for seed in (1, 2)]
    assert all(training.converged for training in starts)
    assert starts[0].model.bias != starts[1].model.bias


def test_random_start_without_intercept_has_no_bias():
    training = perceptron_train([({"a": 1.0}, True)], start="random", learner=Perceptron(fit_intercept=False))
    assert training.model.bias == 0
    assert not training.model.weights["a"].is_integer()


class Wanderer(Perceptron):
    """Its error on held-out data runs through a given course, whatever it learns."""

    course = (0.5, 0.2, 0.3, 0.2, 0.4, 0.1)

    def __init__(self):
        super().__init__()
        self.epoch = -1

    def learn_one(self, x, y, w=1.0):
        self.epoch += 1
        self.n_updates += 1

    def predict_one(self, x, **_):
        return x.get("n", 0) >= 10 * self.course[self.epoch]


TEN = [({"n": n}, True) for n in range(10)]


@pytest.mark.parametrize(
    ("patience", "epochs", "best", "stopped"),
    [(None, 6, 6, "max_iter"), (4, 6, 6, "max_iter"), (3, 5, 2, "patience"), (1, 3, 2, "patience")],
)
def test_early_stopping_returns_the_model_of_the_best_epoch(patience, epochs, best, stopped):
    training = perceptron_train([({}, True)], 6, learner=Wanderer(), held_out=TEN, patience=patience)
    assert (training.epochs, training.best_epoch, training.stopped) == (epochs, best, stopped)
    assert training.model.epoch == best - 1
    assert perceptron_test(training.model, TEN).error == training.best.held_out_error
    assert training.best.held_out_error == min(epoch.held_out_error for epoch in training.curve)


@given(examples, examples, st.integers(1, 3))
def test_returned_model_has_the_smallest_held_out_error(data, held_out, patience):
    training = perceptron_train(data, 8, held_out=held_out, patience=patience)
    errors = [epoch.held_out_error for epoch in training.curve]
    assert perceptron_test(training.model, held_out).error == min(errors)
    assert perceptron_test(training.model, data).error == training.best.training_error
    assert training.best_epoch == errors.index(min(errors)) + 1


def test_observer_sees_each_epoch_of_the_curve():
    told = []
    training = perceptron_train(XOR, 5, observe=told.append)
    assert tuple(told) == training.curve
    assert [epoch.number for epoch in told] == [1, 2, 3, 4, 5]


def learners():
    for name in perceptron_core.__all__:
        found = getattr(perceptron_core, name)
        if isinstance(found, type) and issubclass(found, base.Classifier):
            yield from (pytest.param(found(**p), id=name) for p in found._unit_test_params())


@pytest.mark.parametrize("learner", list(learners()))
def test_command_trains_every_learner(learner):
    pages = PHISHING[:300]
    if isinstance(learner, perceptron_core.HashedClassifier):  # which takes features by index
        pages = [(dict(enumerate(x.values())), y) for x, y in pages]
    if isinstance(learner, perceptron_core.CharacterNaiveBayes):  # which takes texts
        pages = [({"page": " ".join(f"{name}={value}" for name, value in x.items())}, y) for x, y in pages]
    training, held_out = hold_out(pages, 0.3)
    trained = perceptron_train(training, 3, learner=learner, held_out=held_out)
    assert trained.best.held_out_error < 0.35
    assert trained.updates > 0


def test_perceptron_test_leaves_the_model_unchanged():
    model = perceptron_train(PHISHING, 2).model
    before = to_bytes(model)
    assessment = perceptron_test(model, PHISHING)
    assert to_bytes(model) == before
    assert len(assessment.predictions) == len(PHISHING)
    wrong = sum(p != y for p, (_, y) in zip(assessment.predictions, PHISHING, strict=True))
    assert assessment.mistakes == wrong
    assert assessment.error == wrong / len(PHISHING)


@pytest.mark.parametrize("labels", [(True, False), (1, 0), (1, -1)])
def test_perceptron_test_accepts_every_spelling_of_labels(labels):
    data = [({"a": 1}, labels[0]), ({"a": -1}, labels[1])]
    assert perceptron_test(perceptron_train(data).model, data).mistakes == 0


def test_error_of_no_examples_is_nan():
    assert math.isnan(perceptron_test(Perceptron(), []).error)


@given(st.integers(2, 50), st.floats(0.001, 0.999), st.integers(0, 9))
def test_holding_out_splits_without_loss_and_keeps_the_order(n, ratio, seed):
    data = numbered(n)
    training, held_out = hold_out(data, ratio, seed)
    assert sorted([*training, *held_out], key=data.index) == data
    assert training == sorted(training, key=data.index)
    assert len(held_out) == min(max(1, round(ratio * n)), n - 1)
    assert hold_out(data, ratio, seed) == (training, held_out)


@pytest.mark.parametrize(("n", "ratio"), [(10, 0.0), (10, 1.0), (10, math.nan), (1, 0.5)])
def test_impossible_holdout_ratio_is_rejected(n, ratio):
    with pytest.raises(ValueError, match="hold"):
        hold_out(numbered(n), ratio)


@pytest.mark.parametrize(
    "options",
    [
        {"max_iter": 0},
        {"quiet_draws": 0},
        {"patience": 0, "held_out": AND},
        {"patience": 1},
        {"order": "sorted"},
        {"start": "one"},
    ],
)
def test_invalid_options_are_rejected(options):
    with pytest.raises(ValueError, match=str(next(iter(options)))):
        perceptron_train(AND, **options)


def test_missing_and_invalid_examples_are_rejected():
    with pytest.raises(ValueError, match="at least one example, got none"):
        perceptron_train([])
    with pytest.raises(FeatureError):
        perceptron_train([({"a": math.nan}, True)])
    with pytest.raises(LabelError):
        perceptron_train([({"a": 1.0}, "spam")])


def test_only_learners_with_weights_start_at_random():
    class Foreign:
        n_mistakes = n_updates = 0

        def clone(self):
            return self

    with pytest.raises(ValueError, match="Foreign has no weights"):
        perceptron_train(AND, start="random", learner=Foreign())
