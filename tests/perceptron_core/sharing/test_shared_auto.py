"""Lanes of an `AutoClassifier`: AROW and SCW on hashed features are one model, the rest is a lane's own."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perceptron_core
from perceptron_core import COMPILED, AutoClassifier, DamagedError, Perceptron, from_bytes, to_bytes
from perceptron_core.auto.layout import GRAMS, WORDS
from perceptron_core.formats.envelope import seal, unseal
from perceptron_core.formats.packed import pack, unpack
from perceptron_core.sharing.blocks import read_bases
from perceptron_core.sharing.contribution import OF_LEARNER, is_of_many, read_many
from perceptron_core.sharing.mix import mix
from perceptron_core.sharing.shared_model import SharedModel
from tests.perceptron_core.sharing.lanes import Round, close
from tests.support.example_counts import n_examples
from tests.support.interpreted import interpreted_core

TWO, THREE = (False, True), ("a", "b", "c")
SMALL = {"hash_bits": 7, "max_columns": 4}
KIND = b"perceptron-auto-contribution"


class Learn(NamedTuple):
    """An event for a lane."""

    lane: int
    x: Any
    y: int


VALUES = st.one_of(
    st.sampled_from([1, 2.5, -3.0, True, None, "", "red"]), st.text("ab c", min_size=3, max_size=12)
)
EVENTS = st.one_of(
    st.dictionaries(st.sampled_from("uvwxyz"), VALUES, max_size=4), st.text("ab c", max_size=20)
)


def steps(n_lanes):
    """Draw what happens to so many lanes; a name is a number here and a text there, or comes late."""
    step = st.builds(Learn, st.integers(0, n_lanes - 1), EVENTS, st.integers(0, 2))
    return st.lists(
        st.one_of(step, step, step, st.builds(Round, st.sampled_from([2_000, 100_000]))), max_size=20
    )


def lanes_of(n, classes=TWO, core=perceptron_core):
    shared = core.sharing.shared_model.SharedModel
    return [shared(core.AutoClassifier(classes, **SMALL)) for _ in range(n)]


def learn(model, step):
    model.learn_one(step.x, model.classes[step.y % len(model.classes)])


def play(lanes, happening, mixed=mix):
    for step in happening:
        if isinstance(step, Learn):
            learn(lanes[step.lane].model, step)
        else:
            close(lanes, step.max_bytes, mixed)


def restarted(lane):
    state = unpack(pack(lane.state()))
    again = SharedModel(from_bytes(to_bytes(lane.model)))
    again.restore(state)
    return again


def bases(lane):
    """Return the base of a lane, by learner, kind of rows and index."""
    found = {}
    for label, name, state in lane.state()["learners"]:
        coordinates = memoryview(state["coordinates"]).cast("i")
        for block in read_bases(state["bases"]):
            for entry, row in enumerate(block.rows):
                where = None if block.of else coordinates[row]
                found[label, name, where] = [column[entry] for column in block.columns]
    return found


def cells(model, name, column):
    """Return the cells of a column of a learner by index."""
    ensemble = model.ensembles[-1]
    if name not in ensemble.names:
        return {}
    number = ensemble.names.index(name)
    tokens = {WORDS: model.maps.words, GRAMS: model.maps.grams}[ensemble.map_of(number)]
    rule = ensemble.rules[number]
    cells = rule.table.nonzero(getattr(rule, column))
    return dict(zip(tokens.indices_at(array("i", cells)), cells.values(), strict=True))


def stream(n, seed=1):
    """Draw texts whose class is that of most of their words."""
    chance = random.Random(seed)
    words = [f"word{k}" for k in range(60)]
    for _ in range(n):
        drawn = chance.choices(words, k=7)
        yield " ".join(drawn), sum(int(word[4:]) % 2 for word in drawn) > 3


@pytest.mark.parametrize("classes", [TWO, THREE])
@settings(max_examples=n_examples(40), deadline=None)
@given(happening=steps(3))
def test_all_lanes_have_the_same_base_to_the_bit(classes, happening):
    lanes = lanes_of(3, classes)
    play(lanes, [*happening, Round(100_000)])
    assert len({lane.checksum for lane in lanes}) == 1
    assert bases(lanes[0]) == bases(lanes[1]) == bases(lanes[2])


@settings(max_examples=n_examples(30), deadline=None)
@given(happening=steps(2))
def test_shared_learners_are_alike_once_everything_is_contributed(happening):
    lanes = lanes_of(2)
    play(lanes, happening)
    close(lanes, 1 << 20)
    close(lanes, 1 << 20)
    for name, column in LINEAR:
        one, other = (cells(lane.model, name, column) for lane in lanes)
        for index in {*one, *other}:
            assert one.get(index, 0.0) == pytest.approx(other.get(index, 0.0), abs=1e-4)


LINEAR = [
    ("words: AROW", "weight_column"),
    ("words: SCW", "weight_column"),
    ("grams: AROW", "weight_column"),
    ("grams: SCW", "weight_column"),
]
"""Numbers that change by learning and by mixes alone."""


@settings(max_examples=n_examples(30), deadline=None)
@given(happening=steps(3))
def test_contributed_and_pending_add_up_to_all_updates(happening):
    lanes = lanes_of(3)
    made = [Counter() for _ in lanes]
    contributed = [Counter() for _ in lanes]
    for step in happening:
        if isinstance(step, Learn):
            model = lanes[step.lane].model
            before = {each: cells(model, *each) for each in LINEAR}
            learn(model, step)
            for each in LINEAR:
                after = cells(model, *each)
                for index in {*after, *before[each]}:
                    made[step.lane][each[0], index] += after.get(index, 0.0) - before[each].get(index, 0.0)
        else:
            for total, data in zip(contributed, close(lanes, step.max_bytes), strict=True):
                add_up(total, data)
    for lane, updates, total in zip(lanes, made, contributed, strict=True):
        base = bases(lane)
        for each in LINEAR:
            now = cells(lane.model, *each)
            for (name, index), update in updates.items():
                if name == each[0]:
                    of_base = base.get((True, name, index), [0.0])[0]
                    pending = now.get(index, 0.0) - of_base
                    assert total[name, index] + pending == pytest.approx(update, rel=1e-6, abs=1e-6)


def add_up(total, data):
    """Add what a contribution contributes to the numbers of `LINEAR`."""
    for (_, name), contribution in read_many(data).parts.items():
        for block in contribution.blocks:
            if block.of != OF_LEARNER:
                for row, shift in zip(block.rows, block.columns[0], strict=True):
                    total[name, contribution.coordinates[row]] += shift


@pytest.mark.parametrize("classes", [TWO, THREE])
@settings(max_examples=n_examples(30), deadline=None)
@given(happening=steps(1))
def test_one_lane_alone_learns_as_a_model_that_is_not_shared(classes, happening):
    (lane,) = lanes_of(1, classes)
    alone = AutoClassifier(classes, **SMALL)
    play([lane], happening)
    for step in happening:
        if isinstance(step, Learn):
            learn(alone, step)
    assert to_bytes(lane.model) == to_bytes(alone)


@pytest.mark.parametrize("classes", [TWO, THREE])
@settings(max_examples=n_examples(25), deadline=None)
@given(before=steps(2), after=steps(2), in_flight=st.booleans())
def test_a_lane_that_restarts_goes_on_bit_for_bit(classes, before, after, in_flight):
    lanes = lanes_of(2, classes)
    play(lanes, before)
    contributions = [lane.contribute() for lane in lanes] if in_flight else []
    again = [restarted(lane) for lane in lanes]
    last = {}
    for number, group in enumerate((lanes, again)):
        if in_flight:
            made = mix(contributions)
            for lane, own in zip(group, contributions, strict=True):
                lane.apply(made, own)
        play(group, after)
        last[number] = close(group)
    assert last[0] == last[1]
    for lane, other in zip(lanes, again, strict=True):
        assert other.state() == lane.state()
        assert to_bytes(other.model) == to_bytes(lane.model)


@settings(max_examples=n_examples(20), deadline=None)
@given(before=steps(1), after=steps(1))
def test_looking_at_a_lane_changes_nothing(before, after):
    """State, distance and number of updates are asked for at any time, and not at the same in a replay."""
    (looked_at,), (other,) = lanes_of(1), lanes_of(1)
    for lane in looked_at, other:
        play([lane], before)
        if lane is looked_at:
            lane.state()
            lane.distance()
            _ = lane.n_updates
        play([lane], after)
    assert looked_at.contribute() == other.contribute()


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    core = interpreted_core(tmp_path_factory.mktemp("interpreted"))
    assert not core.COMPILED
    return core


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="it would be compared with itself")
@pytest.mark.parametrize("classes", [TWO, THREE])
@settings(max_examples=n_examples(10), deadline=None)
@given(happening=steps(3))
def test_the_interpreter_shares_the_same_model_to_the_bit(interpreted, classes, happening):
    ours, theirs = lanes_of(3, classes), lanes_of(3, classes, interpreted)
    mixed = interpreted.sharing.mix.mix
    play(ours, happening)
    play(theirs, happening, mixed)
    assert close(ours) == close(theirs, mixed=mixed)
    for one, other in zip(ours, theirs, strict=True):
        assert one.state() == other.state()
        assert to_bytes(one.model) == interpreted.to_bytes(other.model)


@pytest.mark.parametrize("classes", [TWO, THREE])
@settings(max_examples=n_examples(25), deadline=None)
@given(happening=steps(2))
def test_a_lane_that_joins_takes_the_base_over(classes, happening):
    lanes = lanes_of(2, classes)
    play(lanes, [*happening, Round(100_000)])
    (late,) = lanes_of(1, classes)
    late.adopt(lanes[0].state())
    assert late.checksum == lanes[0].checksum
    assert bases(late) == bases(lanes[0])
    close([*lanes, late])
    assert bases(late) == bases(lanes[0])


def test_a_lane_without_texts_answers_them_by_what_the_others_learned():
    lanes = [SharedModel(AutoClassifier(TWO)) for _ in range(2)]
    for x, y in stream(300):
        lanes[0].model.learn_one(x, y)
    lanes[1].model.learn_one({"size": 2.5}, True)
    close(lanes, 1 << 20)
    right = sum(lanes[1].model.predict_one(x) == y for x, y in stream(100, seed=2))
    assert right > 80


@pytest.mark.parametrize("classes", [TWO, THREE])
def test_a_lane_explains_its_own_answer(classes):
    lanes = lanes_of(2, classes)
    for number, (x, y) in enumerate(stream(60)):
        lanes[number % 2].model.learn_one({"text": x, "size": number + 0.5}, classes[y])
    close(lanes, 1 << 20)
    for lane in lanes:
        x = {"text": "word1 word3 word4", "size": 7.5}
        addends, intercept = lane.model.explain(x, 1)
        assert sum(each.contribution for each in addends) + intercept == pytest.approx(
            lane.model.log_odds(x)[1]
        )


def test_labels_that_come_after_other_learners_joined_are_learned():
    lanes = lanes_of(2)
    lanes[0].model.learn_one("one two", True)
    lanes[1].model.learn_one({"size": 1.5}, False)
    lanes[1].model.predict_one({"size": 2.5})
    said = lanes[1].model.said()
    close(lanes)
    assert lanes[1].model.groups == ["words", "grams"]
    lanes[1].model.learn_one({"size": 2.5}, True, said=said)
    assert lanes[1].model.n_updates == 2


def test_lanes_together_err_less_than_each_for_itself():
    mistakes = {}
    for shared in (True, False):
        lanes, wrong = lanes_of(8), 0
        for number, (x, y) in enumerate(stream(800)):
            model = lanes[number % 8].model
            wrong += model.predict_one(x) != y
            model.learn_one(x, y)
            if shared and number % 40 == 39:
                close(lanes, 1 << 20)
        mistakes[shared] = wrong
    assert mistakes[True] < 0.8 * mistakes[False]


def test_numbers_that_are_columns_stay_the_lanes_own():
    lanes = lanes_of(2)
    for k in range(20):
        lanes[0].model.learn_one({"size": k + 0.5}, k > 10)
    assert lanes[0].n_updates == 0
    close(lanes)
    assert lanes[1].model.groups == []


def test_trees_nearest_events_and_characters_stay_the_lanes_own():
    lanes = lanes_of(2)
    for k in range(30):
        event = {
            "size": k + 0.5,
            "kind": "uv"[k % 2],
            "note": "some text of more than two and thirty characters",
        }
        lanes[0].model.learn_one(event, k > 10)
    close(lanes, 1 << 20)
    assert {"characters", "forest", "neighbors"} <= {*lanes[0].model.groups}
    assert lanes[1].model.groups == ["words", "grams"]


def test_what_does_not_fit_comes_later():
    (lane,) = lanes_of(1)
    for x, y in stream(30):
        lane.model.learn_one(x, y)
    contributions = []
    while lane.n_updates:
        contributions += close([lane], 3_000)
        assert len(contributions[-1]) <= 3_000
    assert len(contributions) > 1
    assert lane.distance() == pytest.approx(0.0, abs=1e-4)


def test_a_contribution_that_has_no_room_is_refused():
    (lane,) = lanes_of(1)
    lane.model.learn_one("some words", True)
    with pytest.raises(ValueError, match="max_bytes is 100, but a contribution takes at least"):
        lane.contribute(100)


def test_what_a_model_had_learned_before_is_its_shift():
    model = AutoClassifier(TWO, **SMALL)
    for x, y in stream(50):
        model.learn_one(x, y)
    lanes = [SharedModel(model), *lanes_of(1)]
    assert lanes[0].n_updates > 0
    close(lanes, 1 << 20)
    for name, column in LINEAR:
        assert cells(lanes[1].model, name, column) == pytest.approx(cells(model, name, column), abs=1e-5)


def test_a_lane_in_which_nothing_was_learned_contributes_little():
    (lane,) = lanes_of(1)
    assert len(lane.contribute()) < 100


def test_a_mix_is_applied_once():
    lanes = lanes_of(2)
    lanes[0].model.learn_one("one", True)
    contributions = [lane.contribute() for lane in lanes]
    made = mix(contributions)
    lanes[0].apply(made, contributions[0])
    with pytest.raises(ValueError, match=r"this is the mix of round 1, .* this lane is after round 1"):
        lanes[0].apply(made, contributions[0])


def test_a_mix_without_the_lanes_contribution_is_refused():
    one, other = lanes_of(2)
    one.model.learn_one("one", True)
    own = one.contribute()
    with pytest.raises(ValueError, match="no part of the mix"):
        one.apply(mix([other.contribute()]), own)


def test_a_mix_of_other_classes_is_refused():
    (one,), (other,) = lanes_of(1), lanes_of(1, THREE)
    other.model.learn_one("one", "b")
    own = one.contribute()
    with pytest.raises(ValueError, match="this model has no learner 'words: AROW' of the class 'a'"):
        one.apply(mix([own, other.contribute()]), own)


def test_a_mix_of_other_indices_is_refused():
    one, other = SharedModel(AutoClassifier(TWO, hash_bits=8)), SharedModel(AutoClassifier(TWO, hash_bits=9))
    with pytest.raises(ValueError, match="contribution 1 is to AutoClassifier"):
        mix([one.contribute(), other.contribute()])


def test_a_contribution_of_another_kind_of_model_makes_no_mix():
    (lane,), other = lanes_of(1), SharedModel(Perceptron())
    with pytest.raises(DamagedError, match="this is no perceptron-auto-contribution"):
        mix([lane.contribute(), other.contribute()])


def test_a_model_whose_classes_are_not_given_is_refused():
    with pytest.raises(TypeError, match=r"AutoClassifier\(classes=None\) cannot be shared"):
        SharedModel(AutoClassifier())


def test_a_model_is_shared_once():
    (lane,) = lanes_of(1)
    with pytest.raises(ValueError, match="this AutoClassifier is shared already"):
        SharedModel(lane.model)


@pytest.mark.parametrize(
    "change",
    [
        lambda _: [],
        lambda _: None,
        lambda body: [*body[:2], [[True, "words: AROW", b"nothing"]]],
        lambda body: [*body[:2], [*body[2], body[2][0]]],
        lambda body: [*body[:2], [[True, "words: AROW"]]],
    ],
)
def test_sealed_nonsense_is_damaged(change):
    (lane,) = lanes_of(1)
    lane.model.learn_one("one", True)
    data = lane.contribute()
    assert is_of_many(data)
    _, body = unseal(KIND, range(1, 2), data)
    with pytest.raises(DamagedError):
        mix([seal(KIND, 1, pack(change([*unpack(body)])))])
