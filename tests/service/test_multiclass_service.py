"""Events of more than two classes through the service: models by name, corrections, recovery, replay."""

import pytest

from perceptron_core.formats.model_bytes import learners
from perceptron_core.formats.packed import pack, unpack
from perceptron_core.linear.multiclass import MulticlassClassifier
from service.errors import ConfigurationError
from service.models.core import MulticlassLearner
from service.models.registry import make_learner
from service.models.river import RiverLearner
from tests.service.building import Feed, event, label

ANIMALS = ("ant", "bee", "cow")
CLASSES = ",".join(ANIMALS)
MODELS = {
    name: model
    for model in learners().values()
    if issubclass(model, MulticlassClassifier)
    for name in (model.NAME, model.NAME.replace("multiclass-", ""))
}
UNDOABLE = ["multiclass-perceptron", "averaged-multiclass-perceptron"]


@pytest.mark.parametrize(("name", "model"), MODELS.items())
def test_three_class_names_select_the_multiclass_learner(name, model):
    learner = make_learner(name, {}, ANIMALS)
    assert isinstance(learner, MulticlassLearner)
    assert (type(learner.model), learner.model.classes) == (model, ANIMALS)


def test_two_class_names_make_a_multiclass_learner_learn_booleans():
    feed = Feed(model="multiclass-perceptron", classes="ham,spam")
    feed(event("1", "win", label="spam"))
    output = feed.output_of(event("2", "win"))
    assert (output["label"], output["score"]) == ("spam", 4.0)  # 2·(‖x‖² + 1): the difference of two scores
    assert feed.model.classes == (False, True)


def test_model_made_for_other_classes_is_rejected(tmp_path):
    (tmp_path / "made.py").write_text(
        "from perceptron_core import MulticlassPerceptron\n"
        "def build():\n    return MulticlassPerceptron(['dog', 'cat', 'ox'])\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigurationError, match="the model has"):
        make_learner(f"{tmp_path}/made.py:build", {}, ANIMALS)


def test_parameter_of_the_binary_model_is_a_clear_error():
    with pytest.raises(ConfigurationError, match=r"model_params: .*threshold"):
        make_learner("perceptron", {"threshold": 0.5}, ANIMALS)


def test_multiclass_score_belongs_to_the_predicted_class():
    feed = Feed(classes=CLASSES)
    first = feed.output_of(event("1", "buzz", label="bee"))
    assert (first["label"], first["score"], first["truth"], first["mistake"]) == ("ant", 0.0, "bee", True)
    second = feed.output_of(event("2", "buzz"))
    assert (second["label"], second["score"], second["updates"]) == ("bee", 2.0, 1)


@pytest.mark.parametrize("model", UNDOABLE)
def test_correction_removes_the_effect_of_the_wrong_label(model):
    corrected, right = Feed(classes=CLASSES, model=model), Feed(classes=CLASSES, model=model)
    corrected(event("1", "moo", label="bee"))
    corrected(label("1", "cow"))
    right(event("1", "moo", label="cow"))
    assert corrected.counters.labels["corrected"] == 1
    if model == "multiclass-perceptron":
        assert corrected.model.weights == right.model.weights
        assert corrected.model.bias == right.model.bias
    assert corrected.model.weights["bee"] == {}


@pytest.mark.parametrize("model", UNDOABLE)
def test_step_read_from_a_snapshot_is_undone_as_well(model):
    straight, restored = Feed(classes=CLASSES, model=model), Feed(classes=CLASSES, model=model)
    straight(event("1", "moo", label="bee"))
    straight(event("2", "buzz", label="bee"))
    restored.processor.restore(_through_bytes(straight.processor.state()))
    for feed in (straight, restored):
        feed(label("1", "cow"))
    assert pack(restored.processor.state()) == pack(straight.processor.state())
    assert restored.counters.labels["corrected"] == 1


def _through_bytes(state):
    return unpack(pack(state))


def test_multiclass_river_pipeline_learns_names():
    learner = make_learner("river.naive_bayes:MultinomialNB", {}, ANIMALS)
    assert isinstance(learner, RiverLearner)
    assert learner.assess({"a": 1.0})[0] == "ant"
    learner.learn({"a": 1.0}, "cow")
    assert learner.assess({"a": 1.0}) == ("cow", pytest.approx(1.0))
