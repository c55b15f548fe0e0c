"""What is exported gives the scores and the labels of the model, in each format."""

import json
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from perceptron_core import HashedClassifier
from perceptron_core.formats.model_bytes import learners
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from service.errors import ConfigurationError
from service.lab.export import LinearModel, as_json, as_onnx, as_sklearn, linear_model
from service.messages.labels import Vocabulary
from service.models.learner import Learner
from service.models.registry import make_learner
from service.partition.factory import make_extractor
from service.settings.load import Settings

HOSTILE = ['"', "\\", "a\nb", "\0", "</script>", "__proto__", "é", "𝄞", "", "%s", "1"]
TEXTS = [
    "Win a BIG prize, win! ΌΣΟΣ ΣΑΣ Σ ΑΣ' ΑΣΑ",
    "see you at noon; İstanbul straße ǅ ⅷ ²½ ٣٤ 中文字",
    "",
    "lunch at noon at noon K Å café café ʰΣ aʰΣ",
    "call 0800 now\r\n\t<b>&amp;</b> 𝄞𐐀𐐨 ﬁ",
    "win win win",
]


def events():
    for number, text in enumerate(TEXTS * 4):
        features: dict[str, Any] = {
            name: (number * 7 + at * 5) % 11 / 4 - 1
            for at, name in enumerate(HOSTILE)
            if at % 3 != number % 3
        }
        features |= {
            "lang": ["en", 'd"e', "é"][number % 3],
            "known": number % 2 == 0,
            "length": len(text) / 7,
        }
        yield features, text


@dataclass
class Case:
    """A trained model, and events with its predictions."""

    learner: Learner
    extractor: Any
    settings: Settings
    asked: list
    model: LinearModel

    @property
    def raw(self):
        model = self.learner.model
        return model.learner if isinstance(model, HashedClassifier) else model

    def scores(self, features, text):
        x = self.extractor.extract(features, text)
        if len(self.model.biases) == 1:
            return [self.raw.score_one(x)]
        return list(self.raw.scores_one(x).values())

    def label(self, features, text):
        predicted, _ = self.learner.assess(self.extractor.extract(features, text))
        vocabulary = Vocabulary(self.settings.classes)
        return vocabulary.spell(predicted, vocabulary.first_spelling())


def trained(model, *, texts=True, **given):
    """Train a model on a part of the events; those not learned from are asked about too."""
    settings = Settings(model=model, **given)
    learner = make_learner(model, settings.model_params, settings.classes, b"", settings.hash_bits)
    extractor = make_extractor(settings)
    found = [(each, text if texts else "") for each, text in events()]
    truths = settings.classes if len(settings.classes) > 2 else (False, True)
    for number, (each, text) in enumerate(found[:-6]):
        learner.learn(extractor.extract(each, text), truths[(number * number + number // 2) % len(truths)])
    more = [({**each, "length": 1000.0, "unknown": 3.0}, text) for each, text in found[:3]]
    return Case(learner, extractor, settings, found + more, linear_model(learner.model, settings))


LINEAR = [
    name
    for name, kind in learners().items()
    if issubclass(kind, (LinearRule, MulticlassClassifier)) and name != "bayesian-logistic"
]
CASES = {name: {"model": name} for name in LINEAR} | {
    "at the threshold": {"model": "perceptron", "model_params": {"tie": True, "threshold": 0.5}},
    "hashed": {"model": "normalized-adagrad", "hash_bits": 8, "ngrams": "1-3", "text_values": "counts"},
    "normalized": {"model": "logistic-regression", "hash_bits": 5, "normalize": "l2", "lowercase": False},
    "several": {"model": "multiclass-arow", "classes": "a,b é,</script>*/", "hash_bits": 7, "text": "chars"},
}


def as_numbers(features):
    """Return what a caller of the C functions gives."""
    return {
        (f"{k}={v}" if isinstance(v, str) else k): (1.0 if isinstance(v, str) else float(v))
        for k, v in features.items()
    }


def decided(told, scores):
    """Return the label that the guide of exports says."""
    if len(scores) > 1:
        return told["labels"][scores.index(max(scores))]
    (score,) = scores
    at = told["label_at_threshold"]
    return at if score == told["threshold"] else told["labels"][score > told["threshold"]]


@pytest.mark.parametrize("given", CASES.values(), ids=CASES)
def test_json_has_every_weight_of_every_linear_learner(given):
    case = trained(**given)
    told = json.loads(as_json(case.model))
    for features, text in case.asked:
        sums = list(told["bias"])
        for feature, value in case.extractor.extract(features, text).items():
            if str(feature) in told["weights"] and value:
                scale = told["scales"].get(str(feature))
                counted = value / max(abs(value), scale) if scale else value
                sums = [s + w * counted for s, w in zip(sums, told["weights"][str(feature)], strict=True)]
        assert sums == pytest.approx(case.scores(features, text), rel=1e-12, abs=1e-12)
        assert decided(told, case.scores(features, text)) == case.label(features, text)


@pytest.mark.parametrize("name", sorted({*learners()} - {*LINEAR}))
def test_other_learners_are_rejected_with_a_format_that_accepts_them(name):
    model = make_learner(name, {}).model
    with pytest.raises(ConfigurationError, match="is not a linear model") as rejected:
        linear_model(model, Settings(model=name))
    assert "perceptron predict" in rejected.value.hint


@pytest.mark.parametrize(
    "given",
    [
        {"model": "normalized-adagrad"},
        {"model": "perceptron", "model_params": {"tie": True}},
        {"model": "multiclass-normalized-adagrad", "classes": "a,b,ç"},
    ],
    ids=str,
)
def test_onnx_gives_the_same_scores_and_labels(given):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    case = trained(texts=False, **given)
    session = runtime.InferenceSession(as_onnx(case.model), providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    rows = [[as_numbers(features).get(name, 0.0) for name in names] for features, _ in case.asked]
    labels, scores = session.run(["label", "scores"], {"features": np.array(rows)})
    assert scores.tolist() == [
        pytest.approx(case.scores(*event), rel=1e-12, abs=1e-12) for event in case.asked
    ]
    spelt = dict(zip(case.model.labels, case.model.label_names, strict=True))
    assert labels.tolist() == [spelt[case.label(*event)] for event in case.asked]


@pytest.mark.parametrize(
    "given",
    [{"model": "logistic-regression"}, {"model": "multiclass-perceptron", "classes": "a,b,c"}],
    ids=str,
)
def test_scikit_learn_gives_the_same_scores_and_labels(given):
    case = trained(texts=False, **given)
    pipeline = pickle.loads(as_sklearn(case.model))
    asked = [
        {name: float(value) if not isinstance(value, str) else value for name, value in features.items()}
        for features, _ in case.asked
    ]
    expected = [case.scores(*event) for event in case.asked]
    assert np.reshape(pipeline.decision_function(asked), (len(asked), -1)).tolist() == [
        pytest.approx(each, rel=1e-12, abs=1e-12) for each in expected
    ]
    assert pipeline.predict(asked).tolist() == [case.label(*event) for event in case.asked]


@pytest.mark.parametrize(
    ("form", "given", "reason"),
    [
        (as_onnx, {"model": "perceptron"}, "are not columns"),
        (as_sklearn, {"model": "perceptron", "hash_bits": 8}, "are not columns"),
        (as_sklearn, {"model": "perceptron", "normalize": "l2", "texts": False}, "normalize=l2"),
        (as_sklearn, {"model": "normalized-adagrad", "texts": False}, "clips a value"),
    ],
)
def test_inexpressible_model_is_rejected_with_formats_that_work(form, given, reason):
    pytest.importorskip({as_onnx: "onnx"}.get(form, "json"))
    with pytest.raises(ConfigurationError, match=reason) as rejected:
        form(trained(**given).model)
    assert rejected.value.hint == "--format json exports every linear model"


def test_untrained_model_is_rejected():
    with pytest.raises(ConfigurationError, match="has not learned yet"):
        linear_model(make_learner("perceptron", {}).model, Settings())
