"""A model's bytes with what changed since are those of the model, to the byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import (
    AROW,
    DamagedError,
    HashedClassifier,
    KernelPerceptron,
    Perceptron,
    from_bytes,
    to_bytes,
)
from perceptron_core.formats import model_changes
from perceptron_core.formats.model_changes import freeze_changes, track_changes, with_changes
from perceptron_core.linear.binary import BinaryClassifier
from tests.support.example_counts import n_examples
from tests.support.interpreted import interpreted_core
from tests.support.learners import LINEAR

NAMES = [*"abcdefgh", 3, ("a", 1)]
values = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0])
features = st.dictionaries(st.integers(0, len(NAMES) - 1), values, max_size=4)
learned = st.tuples(st.just("learn"), features, st.booleans())
taken_back = st.tuples(st.just("undo"), features, st.none())
begun_again = st.tuples(st.just("begin"), features, st.none())
copied = st.tuples(st.just("copy"), st.just({}), st.none())
steps = st.lists(learned | learned | learned | taken_back | copied | begun_again, max_size=40)


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    return interpreted_core(tmp_path_factory.mktemp("interpreted"))


@pytest.fixture(autouse=True, scope="module")
def any_share(interpreted):
    """Let models of a few features tell their changes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_changes, "_MAX_RATIO", float("inf"))
        patch.setattr(interpreted.formats.model_changes, "_MAX_RATIO", float("inf"))
        yield


class Chain:
    """The bytes of a model as it was, and what changed since."""

    def __init__(self, model, changes=model_changes, to_bytes=to_bytes):
        self._model, self._of, self._to_bytes = model, changes, to_bytes
        self._begin()

    def _begin(self):
        self._base, self.changes = self._to_bytes(self._model), []
        self._of.track_changes(self._model)

    def grow(self):
        """Copy what changed since, if it is known."""
        changes = self._of.freeze_changes(self._model)
        if changes is None:
            self._begin()
        else:
            self.changes.append(b"".join(changes.iter_chunks()))

    def check(self):
        assert self._of.with_changes(self._base, self.changes) == self._to_bytes(self._model)


def take(model, step, names):
    """Let a model take a step."""
    kind, given, label = step
    x = {names[number]: value for number, value in given.items()}
    if kind == "learn":
        model.learn_one(x, label)
    elif kind == "undo" and hasattr(model, "undo_one"):
        model.undo_one(x, 1.0)
    elif kind == "begin":
        model._restart()
        model.table.write(model.weight_column, {name: value for name, value in x.items() if value})


@pytest.mark.parametrize("hash_bits", [0, 4])
@settings(max_examples=n_examples(900))
@given(name=st.sampled_from([*LINEAR]), taken=steps)
def test_changes_restore_a_learner_of_named_or_hashed_features(hash_bits, name, taken):
    learner = LINEAR[name].clone()
    model = HashedClassifier(learner, hash_bits) if hash_bits else learner
    chain = Chain(model)
    for step in [*taken, ("copy", {}, None)]:
        take(learner if step[0] == "begin" else model, step, range(len(NAMES)) if hash_bits else NAMES)
        if step[0] == "copy":
            chain.grow()
            chain.check()


@pytest.mark.parametrize("hash_bits", [0, 4])
@given(name=st.sampled_from([each for each in LINEAR if "schedule" not in each]), taken=steps)
def test_changes_are_the_same_interpreted_and_compiled(interpreted, hash_bits, name, taken):
    compiled = LINEAR[name].clone()
    assert isinstance(compiled, BinaryClassifier)
    params = compiled._get_params()
    other = getattr(interpreted, type(compiled).__name__)(**params)
    if hash_bits:
        compiled, other = HashedClassifier(compiled, 4), interpreted.HashedClassifier(other, 4)
    one, two = Chain(compiled), Chain(other, interpreted.formats.model_changes, interpreted.to_bytes)
    for step in [*taken, ("copy", {}, None)]:
        if step[0] == "begin":
            continue
        names = range(len(NAMES)) if hash_bits else NAMES
        take(compiled, step, names)
        take(other, step, names)
        if step[0] == "copy":
            one.grow()
            two.grow()
            assert one.changes == two.changes
            two.check()


def test_changes_copied_earlier_ignore_later_learning():
    model = Perceptron()
    model.learn_one(dict.fromkeys("abc", 1.0), True)
    base = to_bytes(model)
    track_changes(model)
    model.learn_one({"a": 3.0}, False)
    changes, then = freeze_changes(model), to_bytes(model)
    model.learn_one({"a": 3.0, "b": 1.0, "d": 1.0}, True)
    assert with_changes(base, [b"".join(changes.iter_chunks())]) == then


def test_bytes_make_any_number_of_models():
    model = AROW()
    track_changes(model)
    model.learn_one(dict.fromkeys("abc", 1.0), True)
    base = to_bytes(AROW())
    changed = with_changes(base, [b"".join(freeze_changes(model).iter_chunks())])
    one, two = from_bytes(changed), from_bytes(changed)
    one.learn_one({"a": 1.0}, False)
    assert to_bytes(two) == to_bytes(model) != to_bytes(one)


def test_changes_hold_changed_features_only():
    model = AROW()
    model.learn_one({f"feature {n}": 1.0 for n in range(10_000)}, True)
    track_changes(model)
    model.learn_one({"feature 5": 1.0}, False)
    changes = freeze_changes(model)
    assert len(b"".join(changes.iter_chunks())) < 200
    assert changes.size_bytes < 200


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.learn_one({f"feature {n}": 1.0 for n in range(20)}, False),
        lambda model: setattr(model, "weights", {"a": 1.0}),
    ],
)
def test_unknown_or_large_changes_are_not_frozen(change, monkeypatch):
    monkeypatch.setattr(model_changes, "_MAX_RATIO", 0.5)
    model = Perceptron()
    model.learn_one({f"feature {n}": 1.0 for n in range(20)}, True)
    track_changes(model)
    assert freeze_changes(model) is not None
    change(model)
    assert freeze_changes(model) is None


def test_untracked_model_has_no_changes():
    assert freeze_changes(Perceptron()) is None
    model = KernelPerceptron()
    track_changes(model)
    assert freeze_changes(model) is None


@pytest.mark.parametrize("changes", [b"", b"\x01", b"\x93\x01\x02\x03"])
def test_invalid_changes_of_a_model_are_rejected(changes):
    with pytest.raises(DamagedError, match="changes"):
        with_changes(to_bytes(Perceptron()), [changes])


def test_changes_of_another_kind_of_model_are_rejected():
    model = AROW()
    track_changes(model)
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(DamagedError, match="AROW"):
        with_changes(to_bytes(Perceptron()), [b"".join(freeze_changes(model).iter_chunks())])
