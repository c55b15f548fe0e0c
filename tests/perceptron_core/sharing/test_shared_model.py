"""Lanes of one model have the same base to the bit, and nothing that a lane learns is lost."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perceptron_core
from perceptron_core import (
    AROW,
    COMPILED,
    HashedClassifier,
    MulticlassPerceptron,
    Perceptron,
    StructuredPerceptron,
    to_bytes,
)
from perceptron_core.sharing.contribution import OF_LEARNER, read
from perceptron_core.sharing.mix import mix
from perceptron_core.sharing.shared_model import SharedModel
from tests.perceptron_core.sharing.lanes import (
    ADDITIVE,
    ALL,
    Learn,
    Round,
    any_name,
    bases,
    close,
    lanes_of,
    learn,
    play,
    restarted,
    steps,
)
from tests.support.example_counts import n_examples
from tests.support.interpreted import interpreted_core
from tests.support.learners import TWO_CLASS

REFUSED = {
    "BatchPerceptron": perceptron_core.BatchPerceptron(),
    "CharacterNaiveBayes": perceptron_core.CharacterNaiveBayes(),
    "Ferns": perceptron_core.Ferns(),
    "HoeffdingForest": perceptron_core.HoeffdingForest(),
    "NearestNeighbors": perceptron_core.NearestNeighbors(),
    "StructuredPerceptron": StructuredPerceptron(),
    **{type(model).__name__: model for model in TWO_CLASS.values() if not model.SHARED},
}
AVERAGED = [
    *("averaged-perceptron", "averaged-perceptron(decay=0.3)", "hashed-averaged-perceptron"),
    "averaged-multiclass-perceptron",
]


class Own(Perceptron):
    """A learner of somebody's own, which may learn otherwise."""


def emitted(contributions):
    """Add up what contributions contribute of a model with one column."""
    total = Counter()
    for data in contributions:
        contribution = read(data)
        for block in contribution.blocks:
            for row, shift in zip(block.rows, block.columns[0], strict=True):
                total[block.label, None if block.of == OF_LEARNER else contribution.coordinates[row]] += shift
    return total


@settings(max_examples=n_examples(500))
@given(name=any_name, happening=steps(3))
def test_all_lanes_have_the_same_base_to_the_bit(name, happening):
    lanes = lanes_of(name, 3)
    play(lanes, [*happening, Round(10_000)])
    assert len({lane.checksum for lane in lanes}) == 1
    assert bases(lanes[0]) == bases(lanes[1]) == bases(lanes[2])


@settings(max_examples=n_examples(300))
@given(name=any_name, happening=steps(2))
def test_lanes_that_contributed_everything_have_the_same_model(name, happening):
    lanes = lanes_of(name, 2)
    play(lanes, happening)
    close(lanes)
    close(lanes)
    one, other = (_learned(lane) for lane in lanes)
    assert _differences(one, other) == pytest.approx(0.0, abs=1e-4)


def test_a_scale_raised_without_an_update_is_contributed():
    lanes = lanes_of("normalized-adagrad", 2)
    for _ in range(40):
        learn(lanes[0].model, Learn(0, {1: 1.0}, 1))
    close(lanes)
    learn(lanes[0].model, Learn(0, {1: 30.0}, 1))
    assert lanes[0].n_updates == 1
    close(lanes)
    assert [lane.model.scales for lane in lanes] == [{"f1": 30.0}] * 2
    assert lanes[1].model.weights == pytest.approx(lanes[0].model.weights)


def test_a_variance_that_grows_without_an_update_is_contributed():
    lanes = lanes_of("arow-forgetting", 2)
    learn(lanes[0].model, Learn(0, {1: 1.0}, 1))
    close(lanes)
    learn(lanes[0].model, Learn(0, {1: 0.0, 2: 1.0}, 0))
    close(lanes)
    assert lanes[1].model.variances == pytest.approx(lanes[0].model.variances)


@settings(max_examples=n_examples(300))
@given(name=any_name, happening=steps(1))
def test_one_lane_alone_learns_as_a_model_that_is_not_shared(name, happening):
    (lane,) = lanes_of(name, 1)
    alone = ALL[name](perceptron_core)
    play([lane], happening)
    for step in happening:
        if isinstance(step, Learn):
            learn(alone, step)
    assert _numbers(lane.model) == _numbers(alone)
    assert lane.model.n_mistakes == alone.n_mistakes


@pytest.mark.parametrize("name", ["perceptron-no-intercept", "hashed-perceptron-no-intercept"])
@settings(max_examples=n_examples(60))
@given(happening=steps(3))
def test_contributed_and_pending_add_up_to_all_updates_exactly(name, happening):
    lanes = lanes_of(name, 3)
    made, contributed = [Counter() for _ in lanes], [[] for _ in lanes]
    for step in [*happening, Round(10_000), Round(10_000)]:
        if isinstance(step, Learn):  # features of its own, so that mixes are exact
            own = Learn(step.lane, {10 * step.lane + k % 10: value for k, value in step.x.items()}, step.y)
            x, size = learn(lanes[own.lane].model, own)
            made[own.lane].update({(None, key): size * value for key, value in x.items()})
        else:
            for given_by, data in zip(contributed, close(lanes, 200), strict=True):
                given_by.append(data)
    for lane, updates, contributions in zip(lanes, made, contributed, strict=True):
        total, base = emitted(contributions), bases(lane)
        for (_, key), update in updates.items():
            pending = _weights(lane.model).get(key, 0.0) - base.get((None, key), [0.0])[0]
            assert total[None, key] + pending == update


@settings(max_examples=n_examples(300))
@given(name=st.sampled_from(ADDITIVE), happening=steps(3, st.floats(-3, 3)))
def test_contributed_and_pending_add_up_to_all_updates_to_rounding(name, happening):
    lanes = lanes_of(name, 3)
    made, contributed = [Counter() for _ in lanes], [[] for _ in lanes]
    for step in happening:
        if isinstance(step, Learn):
            x, size = learn(lanes[step.lane].model, step)
            made[step.lane].update({key: size * value for key, value in x.items()})
        else:
            for given_by, data in zip(contributed, close(lanes, 400), strict=True):
                given_by.append(data)
    for lane, updates, contributions in zip(lanes, made, contributed, strict=True):
        total, base = emitted(contributions), bases(lane)
        for key, update in updates.items():
            pending = _weights(lane.model).get(key, 0.0) - base.get((None, key), [0.0])[0]
            assert total[None, key] + pending == pytest.approx(update, rel=1e-9, abs=1e-9)


@settings(max_examples=n_examples(300))
@given(name=any_name, before=steps(2), after=steps(2), in_flight=st.booleans())
def test_a_lane_that_restarts_goes_on_bit_for_bit(name, before, after, in_flight):
    lanes = lanes_of(name, 2)
    play(lanes, before)
    contributions = [lane.contribute() for lane in lanes] if in_flight else []
    again = [restarted(lane) for lane in lanes]
    for group in lanes, again:
        if in_flight:
            made = mix(contributions)
            for lane, own in zip(group, contributions, strict=True):
                lane.apply(made, own)
        play(group, after)
        last = close(group)
        if group is lanes:
            expected = last
    assert last == expected
    for lane, other in zip(lanes, again, strict=True):
        assert other.state() == lane.state()
        assert to_bytes(other.model) == to_bytes(lane.model)


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    core = interpreted_core(tmp_path_factory.mktemp("interpreted"))
    assert not core.COMPILED
    return core


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="it would be compared with itself")
@settings(max_examples=n_examples(400))
@given(name=any_name, happening=steps(3, st.floats(-1e3, 1e3)))
def test_the_interpreter_shares_the_same_model_to_the_bit(interpreted, name, happening):
    ours = lanes_of(name, 3)
    sharing = interpreted.sharing
    theirs = [sharing.shared_model.SharedModel(ALL[name](interpreted)) for _ in ours]
    play(ours, happening)
    play(theirs, happening, sharing.mix.mix)
    assert close(ours) == close(theirs, mixed=sharing.mix.mix)
    for one, other in zip(ours, theirs, strict=True):
        assert one.state() == other.state()
        assert to_bytes(one.model) == interpreted.to_bytes(other.model)
        assert math.isclose(one.distance(), other.distance())


@pytest.mark.parametrize("name", ["perceptron", "hashed-perceptron", "passive-aggressive"])
def test_what_is_taken_back_after_a_round_is_contributed_as_a_negative_shift(name):
    lanes = lanes_of(name, 2)
    x, step = learn(lanes[0].model, Learn(0, {1: 1.0, 2: 2.0}, 1))
    close(lanes)
    lanes[0].model.undo_one(x, step)
    taken_back = emitted([lanes[0].contribute()])
    assert taken_back == pytest.approx(
        {(None, key): -step * value for key, value in x.items()} | {(None, None): -step}
    )


@pytest.mark.parametrize("name", ["perceptron", "hashed-perceptron", "multiclass-perceptron"])
def test_what_does_not_fit_comes_later(name):
    lanes = lanes_of(name, 1)
    for k in range(40):
        learn(lanes[0].model, Learn(0, {k % 32: 1.0, (k + 1) % 32: 2.0}, k % 3))
    smallest = len(lanes_of(name, 1)[0].contribute())
    contributions = []
    while lanes[0].n_updates:
        contributions += close(lanes, smallest + 60)
        assert len(contributions[-1]) <= smallest + 60
    assert len(contributions) > 1
    assert _numbers(lanes[0].model) == {key: value[0] for key, value in bases(lanes[0]).items() if value[0]}


def test_a_contribution_that_has_no_room_is_refused():
    with pytest.raises(ValueError, match="max_bytes is 10, but a contribution takes at least"):
        SharedModel(Perceptron()).contribute(10)


def test_a_mix_is_applied_once():
    lanes = lanes_of("perceptron", 2)
    contributions = [lane.contribute() for lane in lanes]
    made = mix(contributions)
    lanes[0].apply(made, contributions[0])
    with pytest.raises(ValueError, match=r"this is the mix of round 1, .* this lane is after round 1"):
        lanes[0].apply(made, contributions[0])


def test_a_mix_out_of_turn_is_refused():
    lanes, others = lanes_of("perceptron", 2), lanes_of("perceptron", 2)
    close(lanes)
    contributions = [lane.contribute() for lane in lanes]
    others[0].contribute()
    with pytest.raises(ValueError, match="this is the mix of round 2"):
        others[0].apply(mix(contributions), contributions[0])


def test_a_mix_of_another_model_is_refused():
    lane, other = SharedModel(Perceptron()), SharedModel(MulticlassPerceptron())
    own = lane.contribute()
    with pytest.raises(ValueError, match="MulticlassPerceptron"):
        lane.apply(mix([other.contribute()]), own)


@pytest.mark.parametrize("own", [None, b"another"])
def test_a_mix_is_applied_with_what_the_lane_contributed(own):
    lane = SharedModel(Perceptron())
    made = mix([lane.contribute()])
    with pytest.raises(ValueError, match="this is not what this lane contributed to round 1"):
        lane.apply(made, own)


def test_a_mix_without_the_lanes_contribution_is_refused():
    one, other = lanes_of("perceptron", 2)
    learn(one.model, Learn(0, {1: 1.0}, 1))
    own = one.contribute()
    with pytest.raises(ValueError, match="no part of the mix"):
        one.apply(mix([other.contribute()]), own)


def test_a_lane_does_not_contribute_twice_to_a_round():
    lane = SharedModel(Perceptron())
    lane.contribute()
    with pytest.raises(RuntimeError, match="the mix of round 1 comes first"):
        lane.contribute()


def test_a_lane_that_is_no_member_takes_the_mix_over():
    member, other = lanes_of("perceptron", 2)
    learn(member.model, Learn(0, {1: 1.0}, 1))
    learn(other.model, Learn(0, {2: 1.0}, 1))
    own = member.contribute()
    other.apply(mix([own]), None)
    assert other.model.weights == {"f2": 1.0, "f1": 1.0}
    assert bases(other) == {(None, "f1"): [1.0], (None, None): [1.0]}


@settings(max_examples=n_examples(300))
@given(name=any_name, happening=steps(2))
def test_a_lane_that_joins_takes_the_base_over(name, happening):
    lanes = lanes_of(name, 2)
    play(lanes, [*happening, Round(10_000)])
    (late,) = lanes_of(name, 1)
    late.adopt(lanes[0].state())
    assert late.checksum == lanes[0].checksum
    assert bases(late) == bases(lanes[0])
    close([*lanes, late])
    assert bases(late) == bases(lanes[0])


def test_a_lane_that_joins_keeps_what_it_has_learned():
    (lane,) = lanes_of("perceptron", 1)
    learn(lane.model, Learn(0, {1: 1.0}, 1))
    close([lane])
    late = Perceptron()
    late.learn_one({"f1": 1.0, "f2": 1.0}, False)
    shared = SharedModel(late)
    shared.adopt(lane.state())
    assert late.weights == {"f2": -1.0}
    assert emitted([shared.contribute()])[None, "f1"] == -1.0


def test_a_lane_with_a_base_adopts_no_other():
    one, other = lanes_of("perceptron", 2)
    close([one])
    with pytest.raises(ValueError, match="this lane has a base already, of round 1"):
        one.adopt(other.state())


@given(any_name)
def test_what_a_model_had_learned_before_is_its_shift(name):
    model = ALL[name](perceptron_core)
    for k in range(6):
        learn(model, Learn(0, {k: 1.0, k + 1: 2.0 + k}, k % 3))  # no weight that comes back to 0
    numbers = _numbers(model)
    late, lane = SharedModel(model), SharedModel(ALL[name](perceptron_core))
    assert late.n_updates == model.n_updates > 0
    close([late, lane])
    if name.startswith(
        "averaged-multiclass"
    ):  # a mean comes with a shift of its weight, which may be back at 0
        one, other = _flat(lane.model.current_weights), _flat(model.current_weights)
        assert _differences(one, other) == pytest.approx(0.0, abs=1e-5)
    else:
        assert _differences(_numbers(lane.model), numbers) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("name", AVERAGED)
def test_a_lane_without_examples_predicts_by_the_mean_of_the_others(name):
    lanes = lanes_of(name, 2)
    for k in range(20):
        learn(lanes[0].model, Learn(0, {k % 3: 1.0, 3: 2.0}, k % 2))
    close(lanes)
    assert _learner(lanes[1]).n_examples == 1
    for k in range(3):
        x = {k if name.startswith("hashed") else f"f{k}": 1.0}
        assert lanes[1].model.predict_one(x) == lanes[0].model.predict_one(x)


@pytest.mark.parametrize("name", AVERAGED)
def test_time_alone_moves_no_mean_twice(name):
    lanes = lanes_of(name, 2)
    for turn in range(8):
        for lane in lanes:
            for _ in range(5):
                learn(lane.model, Learn(0, {turn % 2: 1.0}, 1))
        close(lanes)
    for lane in lanes:
        means, current = lane.model.weights, _learner(lane).current_weights
        flat = (
            [(means, current)]
            if not name.startswith("averaged-multiclass")
            else [(means[k], current[k]) for k in current]
        )
        for mean, last in flat:
            assert all(abs(mean[key]) <= abs(last[key]) + 1e-6 for key in mean)


@pytest.mark.parametrize("name", ["normalized-adagrad", "hashed-normalized-adagrad"])
def test_a_scale_is_the_largest_of_all_lanes(name):
    lanes = lanes_of(name, 2)
    for lane, size in zip(lanes, (2.0, 8.0), strict=True):
        learn(lane.model, Learn(0, {1: size, 2: 1.0}, 1))
    close(lanes)
    for lane in lanes:
        learner = _learner(lane)
        assert [*learner.scales.values()] == [8.0, 1.0]
        assert learner.n_examples == 2


def test_a_larger_scale_of_another_lane_leaves_the_weights_of_all_classes():
    lanes = lanes_of("multiclass-normalized-adagrad", 2)
    for lane in lanes:
        for label in range(3):
            learn(lane.model, Learn(0, {1: 1.0, label + 2: 1.0}, label))
    close(lanes)
    before = lanes[0].model.weights["a"]["f1"]
    learn(lanes[1].model, Learn(0, {1: 64.0}, 1))
    after = lanes[1].model.weights["a"]["f1"]
    close(lanes)
    assert lanes[0].model.scales["f1"] == 64.0
    assert lanes[0].model.weights["a"]["f1"] == pytest.approx(after)
    assert before != pytest.approx(after)


@pytest.mark.parametrize("name", ["coin-betting", "hashed-coin-betting"])
def test_bets_follow_from_what_all_lanes_won(name):
    lanes = lanes_of(name, 2)
    for lane, y in zip(lanes, (1, 0), strict=True):
        learn(lane.model, Learn(0, {1: 2.0}, y))
        learn(lane.model, Learn(0, {1: 1.0}, 1))
    close(lanes)
    for lane in lanes:
        learner = _learner(lane)
        before = learner.weights, learner.bias
        learner.place_all()
        assert (learner.weights, learner.bias) == before


@pytest.mark.parametrize("name", ["arow", "hashed-arow", "scw", "bayesian-logistic", "multiclass-arow"])
def test_lanes_grow_sure_together(name):
    lanes, (alone,) = lanes_of(name, 3), lanes_of(name, 1)
    for lane in [*lanes, alone]:
        learn(lane.model, Learn(0, {1: 1.0, 2: 0.5}, 1))
        learn(lane.model, Learn(0, {1: 1.0, 2: -0.5}, 0))
    close(lanes)
    for variance, of_one in zip(_variances(lanes[0].model), _variances(alone.model), strict=True):
        assert 1 / variance == pytest.approx(1 + 3 * (1 / of_one - 1))


def test_updates_open_rounds_until_they_are_contributed():
    (lane,) = lanes_of("perceptron", 1)
    assert lane.n_updates == 0
    learn(lane.model, Learn(0, {1: 1.0}, 1))
    assert lane.n_updates == 1
    lane.contribute()
    assert lane.n_updates == 0


def test_the_distance_is_that_to_the_base():
    (lane,) = lanes_of("perceptron", 1)
    learn(lane.model, Learn(0, {1: 2.0, 2: 2.0}, 1))
    assert lane.distance() == 3.0
    close([lane])
    assert lane.distance() == 0.0


def test_a_feature_whose_weight_and_base_are_0_is_dropped():
    (lane,) = lanes_of("perceptron-no-intercept", 1)
    x, step = learn(lane.model, Learn(0, {1: 1.0}, 1))
    lane.model.undo_one(x, step)
    close([lane])
    assert lane.state()["coordinates"] == SharedModel(Perceptron()).state()["coordinates"]


def test_every_learner_is_mixed_or_refused():
    learners = {
        name for name in perceptron_core.__all__ if hasattr(getattr(perceptron_core, name), "learn_one")
    }
    mixed = {type(make(perceptron_core)).__name__ for make in ALL.values()}
    assert mixed | {*REFUSED, "AutoClassifier"} >= learners
    assert not mixed & {*REFUSED}


@pytest.mark.parametrize(
    "model", [*REFUSED.values(), AROW(full=True), Own()], ids=lambda model: type(model).__name__
)
def test_a_model_that_cannot_be_mixed_is_refused_by_name(model):
    with pytest.raises(TypeError, match=type(model).__name__):
        SharedModel(model)


def test_a_hashed_model_that_cannot_be_mixed_is_refused():
    with pytest.raises(TypeError, match="full=True"):
        SharedModel(HashedClassifier(AROW(full=True), bits=4))


def test_a_model_is_shared_once():
    model = Perceptron()
    SharedModel(model)
    with pytest.raises(ValueError, match="this Perceptron is shared already"):
        SharedModel(model)


def _learner(lane):
    return getattr(lane.model, "learner", lane.model)


def _differences(one, other):
    """Return the largest difference between numbers, of which those that are 0 may be left out."""
    return max((abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in {*one, *other}), default=0.0)


def _variances(model):
    """Return the variances of all features and intercepts."""
    learner = getattr(model, "learner", model)
    variances, of_bias = learner.variances, learner.bias_variance
    if not isinstance(of_bias, dict):
        variances, of_bias = {None: variances}, {None: of_bias}
    return [*of_bias.values(), *(each for row in variances.values() for each in row.values())]


def _weights(model):
    return model.weights


def _learned(lane):
    """Return all that a lane has learned, but for counts and averages, which move with time alone."""
    learner = _learner(lane)
    kept = [name for name in learner.STATE if name not in {"n_updates", "n_mistakes"}]
    if "late" in "".join(kept):
        kept = [name for name in kept if name.startswith("current")]
    numbers = _leaves({name: getattr(learner, name) for name in kept})
    return {key: n - 1 if "variance" in key[0] else n for key, n in numbers.items()}


def _leaves(tree, *path):
    if not isinstance(tree, dict):
        return {path: tree}
    return {leaf: n for key, branch in tree.items() for leaf, n in _leaves(branch, *path, key).items()}


def _numbers(model):
    """Return weights and biases by class and coordinate, without those that are 0."""
    weights, bias = model.weights, model.bias
    if not isinstance(bias, dict):
        weights, bias = {None: weights}, {None: bias}
    cells = _flat(weights) | {(label, None): b for label, b in bias.items()}
    return {key: cell for key, cell in cells.items() if cell}


def _flat(weights):
    return {(label, key): cell for label, row in weights.items() for key, cell in row.items()}
