"""A model with the weights of another program gives that program's scores, and learns on."""

import json

import pytest
from river import linear_model
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from service.errors import ConfigurationError, InputFileError
from service.lab.foreign import read_foreign
from service.partition.factory import make_extractor
from service.settings.load import Settings

X = [{"a": 1.0, "b": -2.5}, {"b": 3.0, "lang=é": 1.0}, {"a": 0.5, "d:e f": 4.0}, {"unknown": 1.0}]
Y = [True, False, True]
UNCLIPPED = "--min_prediction -1e9 --max_prediction 1e9"


def read(tmp_path, content, source, **settings):
    path = tmp_path / "weights"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_foreign(path, source, Settings(**{"model": "logistic-regression", **settings}))


@pytest.mark.parametrize("classes", ["no,yes", "yes,no"])
def test_scikit_learn_with_two_classes(tmp_path, classes):
    vectorizer = DictVectorizer()
    theirs = LogisticRegression().fit(vectorizer.fit_transform(X[:3]), ["yes" if y else "no" for y in Y])
    content = {
        "classes": theirs.classes_.tolist(),
        "features": vectorizer.get_feature_names_out().tolist(),
        "coef": theirs.coef_.tolist(),
        "intercept": theirs.intercept_.tolist(),
    }
    model = read(tmp_path, content, "sklearn", classes=classes)
    sign = 1 if classes == "no,yes" else -1
    expected = theirs.decision_function(vectorizer.transform(X))
    assert [sign * model.score_one(x) for x in X] == pytest.approx(expected)
    before = model.score_one(X[0])
    model.learn_one(X[0], True)
    assert model.score_one(X[0]) > before


def test_scikit_learn_with_several_classes_and_hashed_names(tmp_path):
    content = {
        "classes": [3, 1, 2],
        "features": ["a", "b"],
        "coef": [[1, 2], [3, 4], [5, 6]],
        "intercept": [7, 8, 9],
    }
    with pytest.raises(ConfigurationError, match="label 3"):
        read(tmp_path, content, "sklearn", model="multiclass-perceptron", classes="a,b,c")
    content["classes"] = ["c", "a", "b"]
    model = read(tmp_path, content, "sklearn", model="multiclass-perceptron", classes="a,b,c")
    assert model.scores_one({"a": 2.0, "b": 1.0}) == {"a": 18.0, "b": 25.0, "c": 11.0}


@pytest.mark.parametrize("hash_bits", [0, 20])
def test_river(tmp_path, hash_bits):
    theirs = linear_model.LogisticRegression()
    for x, y in zip(X, Y, strict=False):
        theirs.learn_one(x, y)
    content = {"weights": dict(theirs.weights), "intercept": theirs.intercept}
    model = read(tmp_path, content, "river", model="perceptron", hash_bits=hash_bits)

    extract = make_extractor(Settings(hash_bits=hash_bits)).extract
    expected = [theirs._raw_dot_one(x) for x in X]
    assert [model.score_one(extract(x, None)) for x in X] == pytest.approx(expected)


def test_river_with_several_classes(tmp_path):
    rows = {label: {"weights": {"x": number}, "intercept": -number} for number, label in enumerate("abc")}
    model = read(tmp_path, {"classes": rows}, "river", model="passive-aggressive", classes="c,a,b")
    assert model.scores_one({"x": 3}) == {"c": 4.0, "a": 0.0, "b": 2.0}


@pytest.mark.parametrize("options", ["--loss_function logistic", "--sgd", "--oaa 3 --named_labels u,v,w"])
def test_vowpal_wabbit(tmp_path, options):
    workspace = pytest.importorskip("vowpalwabbit").Workspace
    lines = ["win:2 prize |ns x:1 y=é", "noon |ns x:3", "win noon:0.5"]
    several = "oaa" in options
    labels = ["u", "v", "w"] if several else ["1", "-1", "1"]
    theirs = workspace(f"--quiet --no_stdin -b 12 {options} {UNCLIPPED} -f {tmp_path}/model.vw")
    for label, line in zip(labels, lines, strict=True):
        theirs.learn(f"{label} | {line}")
    theirs.finish()
    names = workspace(f"--quiet --no_stdin -t -i {tmp_path}/model.vw --invert_hash {tmp_path}/text")
    for line in lines:
        names.predict(f"| {line}")
    names.finish()
    reader = workspace(f"--quiet -t -i {tmp_path}/model.vw" + (" --scores" if several else ""))
    given = {"model": "perceptron", "classes": "u,v,w"} if several else {}
    model = read(tmp_path, (tmp_path / "text").read_text(), "vw", **given)
    x = {"win": 2.0, "prize": 1.0, "ns^x": 1.0, "ns^y=é": 1.0}
    found = list(model.scores_one(x).values()) if several else model.score_one(x)
    assert found == pytest.approx(reader.predict(f"| {lines[0]}"), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("source", "content", "reason"),
    [
        ("river", "\x80\x04pickle", "holds no weights of river"),
        ("river", "[]", "AttributeError"),
        ("river", {"weights": {"a": "x"}, "intercept": 0}, "could not convert"),
        ("river", '{"weights": {"a": Infinity}, "intercept": 0}', "weights"),
        ("sklearn", {"coef": [[1.0]]}, "KeyError: 'intercept'"),
        ("sklearn", {"classes": [0, 1], "features": ["a"], "coef": [[1.0, 2.0]], "intercept": [0]}, "longer"),
        ("vw", "win:1:2\n", "no line of options"),
    ],
)
def test_what_are_no_weights_is_refused_and_no_pickle_read(tmp_path, source, content, reason):
    with pytest.raises(InputFileError, match=reason):
        read(tmp_path, content, source)


def test_a_model_that_is_more_than_weights_is_refused_with_those_that_are_not(tmp_path):
    with pytest.raises(ConfigurationError, match="not what makes a model AROW") as refused:
        read(tmp_path, {"weights": {"a": 1}, "intercept": 0}, "river", model="arow")
    assert "perceptron" in refused.value.hint


def test_names_that_get_one_index_are_refused(tmp_path):
    content = {"weights": {str(n): 1.0 for n in range(9)}, "intercept": 0}
    with pytest.raises(ConfigurationError, match="two of 9 features"):
        read(tmp_path, content, "river", hash_bits=3)
