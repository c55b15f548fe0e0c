"""The core is compiled, and no one can tell but by the clock."""

import copy
import gc
import math
import os
import pickle
import random
from array import array
from collections import OrderedDict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perceptron_core
from perceptron_core import COMPILED, to_bytes
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.weights.index import FeatureIndex
from tests.support.example_counts import n_examples
from tests.support.interpreted import interpreted_core
from tests.support.learners import KINDS, SEVERAL, TWO_CLASS, any_of

pytestmark = pytest.mark.slow
numbers = st.floats(-1e100, 1e100) | st.floats(-3, 3) | st.integers(-3, 3) | st.booleans()
keys = st.sampled_from(["a", "b", "c", "naïve", "語", 1, 2**63, -1, None, ("t", 2), 0.5])
examples = st.tuples(
    st.dictionaries(keys, numbers, max_size=6), st.booleans(), st.sampled_from([1.0, 0.0, 0.3, 7])
)
streams = st.lists(examples, max_size=20)
multiclass_streams = st.lists(
    st.tuples(
        st.dictionaries(keys, numbers, max_size=6),
        st.sampled_from(KINDS),
        st.sampled_from([1.0, 0.0, 0.3, 7]),
    ),
    max_size=20,
)


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    core = interpreted_core(tmp_path_factory.mktemp("interpreted"))
    assert not core.COMPILED
    assert core is not perceptron_core
    return core


def made_by(core, ours):
    """Make a learner of the same parameters, of another form of the core; its experts, if any, too."""

    def same(value):
        if isinstance(value, tuple):
            return tuple(map(same, value))
        return made_by(core, value) if isinstance(value, BinaryClassifier) else value

    cls = getattr(core, type(ours).__name__)
    return cls(**{parameter: same(getattr(ours, parameter)) for parameter in ours._get_params()})


@pytest.mark.skipif("PERCEPTRON_REQUIRE_COMPILED" not in os.environ, reason="no one says what is tested")
def test_tested_core_is_installed_and_compiled_as_required():
    assert (os.environ["PERCEPTRON_REQUIRE_COMPILED"] == "1") == COMPILED
    assert Path(perceptron_core.__file__).parents[1] != Path(__file__).parents[2]


def undo_some(made, *models):
    """Undo every second update, if the models can."""
    for x, step in made[::2] if hasattr(models[0], "undo_one") else ():
        for model in models:
            model.undo_one(x, step)


@pytest.mark.skipif(not COMPILED, reason="it would be compared with itself")
@settings(max_examples=n_examples(900))
@given(ours=any_of(TWO_CLASS), stream=streams)
def test_interpreter_gives_the_same_scores_and_the_same_bytes(interpreted, ours, stream):
    theirs = made_by(interpreted, ours)
    made = []
    for x, y, w in stream:
        assert bits(ours.score_one(x)) == bits(theirs.score_one(x))
        assert ours.predict_one(x) is theirs.predict_one(x)
        step = ours.update_one(x, y, w)
        assert bits(step) == bits(theirs.update_one(x, y, w))
        made.append((x, step))
    assert to_bytes(ours) == interpreted.to_bytes(theirs)
    undo_some(made, ours, theirs)
    assert to_bytes(ours) == interpreted.to_bytes(theirs)


@pytest.mark.skipif(not COMPILED, reason="it would be compared with itself")
@settings(max_examples=n_examples(400))
@given(ours=any_of(SEVERAL), stream=multiclass_streams)
def test_interpreter_gives_the_same_multiclass_bytes(interpreted, ours, stream):
    theirs = made_by(interpreted, ours)
    made = []
    for x, y, w in stream:
        assert [*map(bits, ours.scores_one(x).values())] == [*map(bits, theirs.scores_one(x).values())]
        assert ours.predict_one(x) == theirs.predict_one(x)
        step = ours.update_one(x, y, w)
        assert step == theirs.update_one(x, y, w)
        made.append((x, step))
    undo_some(made, ours, theirs)
    assert to_bytes(ours) == interpreted.to_bytes(theirs)


events = st.dictionaries(
    st.sampled_from("abc"),
    st.floats(-3, 3)
    | st.integers(-3, 3)
    | st.sampled_from(
        ["red", "a long text, naïve 語", "of 33 letters: 我爱北京 😀 über ﬁne £5 and more", True, None]
    ),
    max_size=3,
)


@pytest.mark.skipif(not COMPILED, reason="it would be compared with itself")
@pytest.mark.parametrize(("name", "parameters"), [("AutoClassifier", {"hash_bits": 8})])
@settings(max_examples=n_examples(12))
@given(stream=st.lists(st.tuples(events, st.booleans()), max_size=12))
def test_interpreter_mixes_the_same_learners_to_the_same_bytes(interpreted, name, parameters, stream):
    ours, theirs = (getattr(core, name)(**parameters) for core in (perceptron_core, interpreted))
    for x, y in stream:
        assert [*map(bits, ours.learn(x, y, 1.0))] == [*map(bits, theirs.learn(x, y, 1.0))]
    assert to_bytes(ours) == interpreted.to_bytes(theirs)


def bits(number):
    return number.hex()


@pytest.mark.skipif(not COMPILED, reason="it would be compared with itself")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["AutoClassifier", "HoeffdingForest", "NearestNeighbors"])
def test_interpreter_grows_the_same_trees_of_numbers_and_categories(interpreted, name, n_classes):
    chance = random.Random(n_classes)
    ours, theirs = getattr(perceptron_core, name)(), getattr(interpreted, name)()
    for _ in range(300):
        value = chance.randrange(12)  # each has another share of each class
        x = {"kind": f"k{value}", "size": chance.gauss(value, 3.0)}
        y = min(int(chance.random() * (1.5 + value / 6)), n_classes - 1)
        assert ours.predict_proba_one(x) == theirs.predict_proba_one(x)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)
    assert to_bytes(ours) == interpreted.to_bytes(theirs)


taught = st.tuples(any_of(TWO_CLASS), streams, streams) | st.tuples(
    any_of(SEVERAL), multiclass_streams, multiclass_streams
)


@settings(max_examples=n_examples(600))
@given(taught)
def test_copy_of_a_model_saves_the_same_bytes(taught):
    model, before, after = taught
    for x, y, w in before:
        model.learn_one(x, y, w)
    others = [
        perceptron_core.from_bytes(to_bytes(model)),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]
    assert [repr(other) for other in others] == [repr(model)] * 3
    for x, y, w in after:
        for each in (model, *others):
            each.learn_one(x, y, w)
    assert [to_bytes(other) for other in others] == [to_bytes(model)] * 3


@given(st.lists(st.tuples(st.booleans(), st.integers(-30, 30) | keys), max_size=200))
def test_names_are_found_in_order_and_removed(history):
    names, expected = FeatureIndex(), {}
    for slot, (comes, name) in enumerate(history):
        if name in expected:
            names.remove(name)
            del expected[name]
        elif comes:
            names.add(name, slot)
            expected[name] = slot
        assert names.find(name) == expected.get(name, -1)
    assert names.slots() == [*expected.values()]
    slots = array("d", range(len(history)))  # the cell of each slot is its number
    for with_zeros in (True, False):
        found, cells = names.collect(slots, with_zeros)
        assert [*zip(found, cells, strict=True)] == [
            each for each in expected.items() if with_zeros or each[1]
        ]


def test_name_that_changes_the_model_during_comparison_is_harmless():
    model = perceptron_core.Perceptron()

    class Meddler:
        def __init__(self, number):
            self.number = number

        def __hash__(self):
            return 5

        def __eq__(self, other):
            if model.n_updates < 9:
                mistaken = not model.predict_one({})
                model.learn_one({f"fresh {model.n_updates} {k}": 1.0 for k in range(40)}, mistaken)
            return isinstance(other, Meddler) and self.number == other.number

    model.learn_one({Meddler(1): 1.0}, True)
    model.learn_one({Meddler(2): 2.0}, not model.predict_one({}))
    assert model.n_updates >= 9
    assert len(model.weights) > 40
    assert math.isfinite(model.score_one({Meddler(1): 1.0, Meddler(2): 1.0}))


def test_value_that_uses_the_model_during_lookup_gets_right_scores():
    model = perceptron_core.Perceptron()
    model.learn_one({"a": 1.0, "b": 2.0, "c": 4.0}, True)

    class Meddler:
        def __float__(self):
            assert model.score_one({"c": 1.0}) == 5.0
            return 1.0

    assert model.score_one({"a": 1.0, "b": Meddler(), "c": 1.0}) == 1.0 + 1.0 + 2.0 + 4.0


class Dial:
    """A number that turns into another one without its dictionary hearing of it."""

    def __init__(self, number):
        self.number = number

    def __float__(self):
        return self.number


def turned(x):
    for dial in x.values():
        if isinstance(dial, Dial):
            dial.number += 1.0


CHANGES = {
    "set": lambda x, name, value: x.update({name: value}),
    "turn": lambda x, *_: turned(x),
    "delete": lambda x, name, _: x.pop(name, None),
    "clear": lambda x, *_: x.clear(),
    "pop": lambda x, *_: x and x.popitem(),
    "default": lambda x, name, value: x.setdefault(name, value),
    "nothing": lambda *_: None,
}
texts = st.sampled_from(
    ["a", "b", "c", "naïve", "a name of more than 16 bytes", "a name of more than 16 bits"]
)
fresh = texts.map(lambda name: name.encode().decode())  # equal names that are other objects
counts = st.integers(-3, 3) | st.integers(-3, 3).map(float) | st.booleans()
turns = st.tuples(
    st.sampled_from([*CHANGES, "copy", "learn"]),
    fresh | st.sampled_from([7, ("t", 2)]),
    counts | st.integers(-3, 3).map(float).map(Dial),
)


@pytest.mark.parametrize("cls", [dict, OrderedDict])
@given(st.lists(turns, max_size=40))
def test_score_uses_the_current_dictionary(cls, history):
    model, x = perceptron_core.Perceptron(), cls()
    for what, name, value in history:
        if what == "copy":
            x = cls(x)
        elif what == "learn":
            model.learn_one(x, not model.predict_one(x))
        else:
            CHANGES[what](x, name, value)
        weights = model.weights
        expected = model.bias + sum(weights.get(name, 0.0) * float(value) for name, value in x.items())
        assert model.score_one(x) == model.score_one(x) == expected


def test_value_that_empties_its_own_dictionary_raises_a_clear_error():
    model = perceptron_core.Perceptron()
    model.learn_one({f"f{k}": 1.0 for k in range(40)}, True)

    class Emptier:
        def __float__(self):
            x.clear()
            gc.collect()
            return 2.0

    x = {f"f{k}": 1.0 * (k + 1) for k in range(40)} | {"f3": Emptier()}
    with pytest.raises(RuntimeError, match="changed size"):
        model.score_one(x)
    assert model.score_one({"f0": 3.0, "f7": 2.0}) == 1.0 + 3.0 + 2.0


def test_model_without_base_initialization_raises():
    class Forgetful(perceptron_core.Perceptron):
        def __init__(self):
            pass

    with pytest.raises(AttributeError):
        Forgetful().learn_one({"a": 1.0}, True)
