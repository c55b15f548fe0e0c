"""A parameter of a built-in model that has another type is rejected by its name."""

import inspect
import os
import stat
import sys

import pytest

from perceptron_core import AROW, SCW, DamagedError, KernelPerceptron, Mixture, Perceptron
from perceptron_core.linear.binary import BinaryClassifier
from service.errors import ConfigurationError
from service.models.core import BinaryLearner
from service.models.learner import ModelError
from service.models.model_file import ModelKind, write_atomically
from service.models.registry import BUILT_IN, make_learner
from service.models.river import RiverLearner

FACTORY = """
from perceptron_core import KernelPerceptron, Perceptron
from river import compose, linear_model, preprocessing

def build(l2=0.0):
    return compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression(l2=l2))

class Mine(Perceptron):
    pass

def overlap():
    return KernelPerceptron(kernel=lambda x, z: float(len(x.keys() & z.keys())))

not_callable = 3

def scales_only():
    return compose.Pipeline(preprocessing.StandardScaler())

def fails():
    raise RuntimeError("no licence")

class Sulky:
    def __init__(self):
        self.learned = []

    def predict_proba_one(self, x):
        return {True: float("nan")} if "text=vague" in x else {True: 1.0}

    def learn_one(self, x, y):
        self.learned.append(dict(x))

def makes_nothing():
    return None
"""


@pytest.fixture
def factory_file(tmp_path):
    path = tmp_path / "spam_pipeline.py"
    path.write_text(FACTORY, encoding="utf-8")
    return path


def test_built_in_name_takes_parameters():
    learner = make_learner("perceptron", {"threshold": 0.5, "tie": True})
    assert isinstance(learner, BinaryLearner)
    assert repr(learner.model) == repr(Perceptron(threshold=0.5, tie=True))


def test_factory_in_a_file_makes_a_river_pipeline(factory_file):
    learner = make_learner(f"{factory_file}:build", {"l2": 0.1})
    assert isinstance(learner, RiverLearner)
    learner.learn({"a": 1.0}, truth=True)
    predicted, score = learner.assess({"a": 1.0})
    assert (predicted, score > 0, learner.updates) == (True, True, 1)


def test_factory_in_a_package_makes_a_core_model():
    assert isinstance(make_learner("perceptron_core:Perceptron", {}), BinaryLearner)


def test_river_classifier_without_probabilities_still_has_a_signed_score():
    assert make_learner("river.linear_model:ALMAClassifier", {}).assess({"a": 1.0})[0] in {True, False}


@pytest.mark.parametrize(
    ("model", "params", "complaint"),
    [
        ("perceptrn", {}, "unknown model"),
        ("perceptron", {"treshold": 1}, "model_params: .*treshold"),
        ("hoeffding-forest", {"C": 1}, r"hoeffding-forest cannot be made with .*: unknown parameter 'C'$"),
        ("perceptron", {"learning_rate": -1}, "learning_rate"),
        ("no.such.module:build", {}, "cannot import"),
        ("river.linear_model:NoSuchModel", {}, "cannot import"),
        ("/no/such/file.py:build", {}, "no such file"),
        ("{file}:not_callable", {}, "is not a function or class"),
        ("{file}:makes_nothing", {}, "expected a River classifier"),
        ("{file}:scales_only", {}, "expected a River classifier"),
        ("{file}:fails", {}, "^model: .*:fails could not make a model: RuntimeError: no licence"),
        ("json:dumps", {}, "^model: json:dumps could not make a model: TypeError: .*'obj'"),
        ("json:dumps", {"obj": 1}, "^model: json:dumps: expected a River classifier, got str"),
        ("json:dumps", {"object": 1}, "^model_params: json:dumps cannot be made with"),
    ],
)
def test_model_that_cannot_be_made_is_a_clear_error(factory_file, model, params, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        make_learner(model.format(file=factory_file), params)


def test_score_that_is_not_a_number_is_a_model_error(factory_file):
    learner = make_learner(f"{factory_file}:Sulky", {})
    with pytest.raises(ModelError, match="ValueError: the score is nan"):
        learner.assess({"text=vague": 1.0})


def test_class_defined_in_the_users_file_is_saved_and_loaded(factory_file):
    learner, copy = (make_learner(f"{factory_file}:Sulky", {}, key=b"k") for _ in range(2))
    learner.learn({"a": 1.0}, truth=True)
    copy.load(learner.dump())
    assert copy.model.learned == [{"a": 1.0}]
    assert copy.updates == 1


def test_model_that_cannot_be_saved_is_an_error(factory_file):
    learner = make_learner(f"{factory_file}:overlap", {}, key=b"k")
    with pytest.raises(ConfigurationError, match=r"checkpoint of it cannot be made: .*lambda") as caught:
        learner.dump()
    assert "lambda" in caught.value.hint


def test_pickle_of_a_missing_class_is_damaged(factory_file):
    learner, copy = (make_learner(f"{factory_file}:Sulky", {}, key=b"k") for _ in range(2))
    dumped = learner.dump()
    del sys.modules["perceptron_model_spam_pipeline"].Sulky
    with pytest.raises(DamagedError, match="unreadable pickled model: AttributeError"):
        copy.load(dumped)


TWO_CLASS = [name for name, model in BUILT_IN.items() if issubclass(model, BinaryClassifier)]
STREAM = [({"a": 1.0, "b": 2.0}, True), ({"a": 1.0, "c": 1.0}, False), ({"a": 2.0}, True)]


@pytest.mark.parametrize("name", TWO_CLASS)
def test_two_class_model_is_saved_without_pickle(name):
    learner, copy = make_learner(name, {}), make_learner(name, {})
    assert isinstance(learner, BinaryLearner)
    for x, truth in STREAM:
        learner.learn(x, truth)
    copy.load(learner.dump())
    assert copy.dump() == learner.dump()
    for x, _ in STREAM:
        predicted, score = copy.assess(x)
        assert (predicted, score) == (learner.model.predict_one(x), learner.model.score_one(x))
    assert copy.updates == learner.model.n_updates > 0


@pytest.mark.parametrize("name", TWO_CLASS)
def test_step_is_undone_only_by_learners_that_can(name):
    learner = make_learner(name, {})
    before = learner.weights()
    undone = learner.undo({"a": 1.0}, learner.learn({"a": 1.0}, truth=True))
    assert undone == hasattr(BUILT_IN[name], "undo_one")
    assert not undone or learner.weights() == before


@pytest.mark.parametrize("name", TWO_CLASS)
def test_only_single_vector_models_return_weights(name):
    learner = make_learner(name, {})
    learner.learn({"a": 1.0}, truth=True)
    if not hasattr(BUILT_IN[name], "weights"):
        assert learner.weights() is None
    else:
        weights, bias = learner.weights()
        assert weights["a"] > 0
        assert bias > 0


@pytest.mark.parametrize("factory", ["overlap", "Mine"])
def test_core_model_with_river_parts_is_treated_as_river_model(factory_file, factory):
    learner = make_learner(f"{factory_file}:{factory}", {})
    assert isinstance(learner, RiverLearner)
    assert isinstance(learner.model, (KernelPerceptron, Perceptron))
    learner.learn({"a": 1.0}, truth=True)
    assert learner.assess({"a": 1.0})[0] is True


def test_binary_model_rejects_three_classes():
    with pytest.raises(ConfigurationError, match="has two classes"):
        make_learner("perceptron_core:Perceptron", {}, ("a", "b", "c"))


PARAMETERS = [
    (model, name) for model, made in BUILT_IN.items() for name in inspect.signature(made).parameters
]


@pytest.mark.parametrize(
    ("model", "params", "said"),
    [
        ("arow", {"r": "abc"}, "r: expected a number, got 'abc'"),
        ("arow", {"r": [1]}, r"r: expected a number, got \[1\]"),
        ("perceptron", {"learning_rate": "fast"}, "learning_rate: expected a number, got 'fast'"),
        ("perceptron", {"fit_intercept": "no"}, "fit_intercept: expected true or false, got 'no'"),
        ("multiclass-arow", {"classes": "ham"}, "classes: expected a list, got 'ham'"),
    ],
)
def test_error_of_a_parameter_names_the_expected_value(model, params, said):
    with pytest.raises(ConfigurationError, match=said):
        make_learner(model, params)


def test_arbitrary_text_is_rejected_for_every_parameter(subtests):
    for model, name in PARAMETERS:
        with (
            subtests.test(model=model, parameter=name),
            pytest.raises(ConfigurationError, match=rf"{name}\b(?!.*not supported between)"),
        ):
            make_learner(model, {name: "abc"})


@pytest.mark.parametrize(("name", "bits"), [("voted-perceptron", 9), ("kernel-perceptron", 9), ("arow", 30)])
def test_hash_bits_beyond_arrays_keep_the_class_of_model(name, bits):
    learner = make_learner(name, {}, hash_bits=bits)
    learner.learn({2**bits - 1: 1.0}, truth=True)
    assert type(learner.model) is type(make_learner(name, {}).model)


@pytest.fixture
def path(tmp_path):
    before = os.umask(0o022)
    yield tmp_path / "model.bin"
    os.umask(before)


def test_mixtures_of_equal_experts_are_of_one_kind():
    one, same, other = (ModelKind.of(Mixture([AROW(r), SCW()])) for r in (1.0, 1.0, 2.0))
    assert one.difference(same) == ""
    assert one.difference(other) == "experts=('AROW', 'SCW'), not experts=('AROW(r=2.0)', 'SCW')"


def test_new_file_is_private_to_its_owner(path):
    write_atomically(path, b"a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_existing_file_keeps_its_permissions(path, mode):
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["model.bin"]


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root may give files away")
def test_existing_file_keeps_its_owner(path):
    path.write_bytes(b"old")
    os.chown(path, 1234, 1234)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1234)
