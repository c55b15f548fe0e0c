"""`inspect` and `export` show and write a model file; `schema` prints what the service checks against."""

import json

import pytest

from perceptron_core import MulticlassPerceptron, Perceptron, to_bytes
from service.messages.schema import KINDS, json_schema
from service.models.registry import BUILT_IN


@pytest.fixture
def model():
    model = Perceptron(learning_rate=0.1)
    model.learn_one({"free": 3.0, "win": 1.0}, True)
    model.learn_one({"free": 6.0, "ham\x1b[2J": 1.0}, False)
    return model


@pytest.fixture
def path(tmp_path, model):
    path = tmp_path / "model.bin"
    path.write_bytes(to_bytes(model))
    return path


def test_json_has_every_weight_with_every_digit(perceptron, path, model):
    shown = json.loads(perceptron("inspect", path, "--format", "json").stdout)
    assert shown["weights"] == model.weights
    assert shown["bias"] == model.bias
    assert (shown["class"], shown["n_mistakes"], shown["n_updates"]) == ("Perceptron", 2, 2)
    assert shown["parameters"]["learning_rate"] == 0.1
    assert shown["norm"] == pytest.approx(sum(w * w for w in model.weights.values()) ** 0.5)


def test_text_shows_the_largest_weights_first(perceptron, path):
    result = perceptron("inspect", path)
    assert result.exit_code == 0
    *_, title, first, second, _ = result.stdout.splitlines()
    assert title.startswith("largest of 3 weights")
    assert [first.split()[0], second.split()[0]] == ["free", "ham\\x1b[2J"]
    assert "\x1b" not in result.stdout
    assert "learning_rate=0.1" in result.stdout


def test_model_of_several_classes_shows_the_weights_of_each(perceptron, path):
    model = MulticlassPerceptron()
    for word, label in (("free", "spam"), ("lunch", "ham"), ("free", "spam")):
        model.learn_one({word: 1.0}, label)
    path.write_bytes(to_bytes(model))
    shown = json.loads(perceptron("inspect", path, "--format", "json").stdout)
    assert shown["weights"] == model.weights
    assert shown["bias"] == model.bias
    assert "  spam: " in perceptron("inspect", path).stdout


def test_decisions_of_a_saved_model_are_shown_as_in_settings(perceptron, tmp_path):
    file = str(tmp_path / "m")
    rules = [{"name": "act", "threshold": 0.5}, {"name": "look", "max_rate": "3/day"}]
    saved = ("--decisions", json.dumps(rules), "--classes", "no,yes", "--save", file)
    perceptron("replay", "-", *saved, stdin='{"id": "a", "features": {"x": 1}, "label": "yes"}')
    shown = json.loads(perceptron("inspect", file, "--format", "json").stdout)["decisions"]
    assert shown[0] == {"name": "act", "class": "yes", "goal": "threshold = 0.5", "threshold": 0.5}
    lines = [line.split() for line in perceptron("inspect", file).stdout.splitlines()]
    assert ["act", "yes", "threshold", "=", "0.5", "0.5"] in lines
    assert ["look", "yes", "max_rate", "=", "3/day", "-"] in lines


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), (b"junk", "not a perceptron-model")])
def test_file_that_is_not_a_model_is_an_error(perceptron, tmp_path, content, why):
    if content is not None:
        (tmp_path / "m").write_bytes(content)
    result = perceptron("inspect", "m")
    assert (result.exit_code, result.stdout) == (1, "")
    assert why in result.stderr
    assert "hint: choose a file written by `perceptron checkpoint export`" in result.stderr


def test_replay_rejects_to_save_a_pickle_before_it_begins(perceptron, tmp_path):
    arguments = ("--save", "m.bin", "--model", "river.linear_model:LogisticRegression")
    result = perceptron("replay", "-", *arguments, stdin='{"id":"a","text":"x","label":true}\n')
    assert (result.exit_code, result.stdout) == (2, "")
    assert "pickle" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_built_in_model_can_be_inspected(perceptron, tmp_path):
    for name, cls in BUILT_IN.items():
        model = cls()
        for y in (True, False, True):
            model.learn_one({"a": 1.0}, y)
        file = tmp_path / f"{name}.bin"
        file.write_bytes(to_bytes(model))
        text, as_json = perceptron("inspect", file), perceptron("inspect", file, "--format", "json")
        assert (text.exit_code, as_json.exit_code) == (0, 0), name
        assert json.loads(as_json.stdout)["n_updates"] == model.n_updates
        assert f"updates              {model.n_updates:>12}" in text.stdout


ROWS = "ham\tsee you at noon\nspam\twin a big prize now\nham\tlunch at noon?\nspam\tcall now to win\n"


@pytest.fixture
def train(perceptron, tmp_path):
    """Train a model; return its file."""

    def run(*options):
        tmp_path.joinpath("rows.tsv").write_text(ROWS)
        result = perceptron("replay", "rows.tsv", "--classes", "ham,spam", "--save", "model.bin", *options)
        assert result.exit_code == 0, result.stderr
        return "model.bin"

    return run


def test_export_uses_the_settings_of_the_model(perceptron, train, tmp_path):
    result = perceptron(
        "export", train("--ngrams", "1-2", "--hash-bits", "10"), "--format", "json", "--output", "x.json"
    )
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("exported: model.bin to x.json, ")
    told = json.loads(tmp_path.joinpath("x.json").read_text())
    assert (told["labels"], told["features"]["ngrams"], told["features"]["hash_bits"]) == (
        ["ham", "spam"],
        [1, 2],
        10,
    )


@pytest.mark.parametrize(
    ("options", "arguments", "said"),
    [
        (["--model", "auto"], ["--format", "json"], "AutoClassifier is not a linear model"),
        ([], ["--format", "sklearn", "--text", "chars"], "text: expected 'words' as in model.bin"),
        (["--hash-bits", "8"], ["--format", "sklearn"], "--format sklearn: features of texts"),
        ([], ["--format", "pmml"], "got 'pmml'"),
        ([], ["--format", "json", "--output", "no/x.json"], "does not exist"),
        ([], ["--format", "json", "--output", "model.bin"], "would be overwritten"),
    ],
)
def test_impossible_export_is_named_without_output(perceptron, train, tmp_path, options, arguments, said):
    result = perceptron("export", train(*options), "--output", "x", *arguments)
    assert result.exit_code in {1, 2}
    assert said in result.stderr
    assert "hint: " in result.stderr
    assert not tmp_path.joinpath("x").exists()


def test_format_whose_package_is_missing_names_the_extra(perceptron, train, monkeypatch):
    monkeypatch.setattr("service.settings.code.find_spec", lambda _: None)
    result = perceptron("export", train(), "--format", "onnx", "--output", "x")
    assert result.exit_code == 2
    assert "pip install 'online-perceptron[onnx]'" in result.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_command_prints_the_schema_of_the_message(perceptron, kind):
    result = perceptron("schema", kind)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json_schema(kind)
    dialect = "https://json-schema.org/draft/2020-12/schema"
    assert next(iter(json_schema(kind).items())) == ("$schema", dialect)
